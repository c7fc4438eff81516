import type { RuntimeState } from '@holt/protocol'
import type { Updateable } from 'kysely'
import { isUnowned, requireOwn } from '../../foundation/host/require-own.ts'
import { ownedBy } from '../../foundation/host/this-host.ts'
import { hasEnded, mayFollow } from '../../foundation/rows/states.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { Changes, Queries } from '../../foundation/store/open-store.ts'
import type { RuntimeRow, Tables } from '../../foundation/store/tables.ts'
import type { OpenConnections } from '../../tenancy/auth/open-visits.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import type { Runtimes } from '../runtimes.ts'

/** The reason for the state of a runtime. */
export interface Reason {
  readonly code: string
  readonly message: string
}

/** A change of state of a runtime. */
export interface StateChange {
  readonly to: RuntimeState
  readonly reason?: Reason | null
  /** Further columns of its row that change with the state. */
  readonly set?: Pick<
    Updateable<Tables['runtimes']>,
    | 'pause_checkpoint_id'
    | 'paused_at'
    | 'expires_at'
    | 'image_digest'
    | 'origin_image_digest'
    | 'host_id'
    | 'host_epoch'
    | 'near_host_id'
  >
  /** True for what another host has to do: a runtime that shall end. Default false. */
  readonly isWish?: boolean
  /** A check in the same transaction. It throws to refuse the change. */
  readonly require?: (changes: Queries) => Promise<void>
}

/**
 * Changes the state of a runtime of this host: its row and event in one transaction, if the row has
 * not changed since it was read, and is still this host's. Returns the new row. Returns null if the
 * row has changed, and the caller reads it again. Throws `unavailable` if another host has the
 * runtime. This host takes a runtime that belongs to none.
 */
export async function changeState(
  service: Runtimes,
  row: RuntimeRow,
  { to, reason = null, set = {}, require = async () => {}, isWish = false }: StateChange,
): Promise<RuntimeRow | null> {
  if (!mayFollow(row.state, to)) throw new Error(`a runtime that is ${row.state} cannot become ${to}`)
  const isTaken = isUnowned(row)
  if (!isWish && !isTaken) requireOwn(service, row)
  const at = service.now()
  // That a runtime was started is nothing that a power cut could take by itself: the runtime goes
  // with it.
  const durable = row.state === 'starting' && to === 'running' ? 'later' : 'now'
  let open: OpenConnections = []
  const change = async (changes: Changes): Promise<RuntimeRow | null> => {
    await require(changes)
    // The new row can be read before it is durable, which is when this function continues.
    open = service.visits.of(row.runtime_id)
    const changed = await changes
      .updateTable('runtimes')
      .set({
        state: to,
        state_reason_json: reasonTextOf(row, to, reason),
        updated_at: at,
        revision: row.revision + 1,
        ...(to === 'running' && row.started_at === null ? { started_at: at } : {}),
        ...(isTaken ? ownedBy(service.thisHost) : {}),
        ...set,
        ...(hasEnded(to) ? { ended_at: at } : {}),
      })
      .where('project_id', '=', row.project_id)
      .where('runtime_id', '=', row.runtime_id)
      .where('revision', '=', row.revision)
      .where('host_id', isTaken ? 'is' : '=', row.host_id)
      .where('host_epoch', isTaken ? 'is' : '=', row.host_epoch)
      .returningAll()
      .executeTakeFirst()
    if (changed === undefined) return null
    await recordEvent(changes, {
      projectId: row.project_id,
      type: `runtime.${to}`,
      subjectId: row.runtime_id,
      data: { from: row.state, to, reason },
      at,
    })
    return changed
  }
  const changed = await service.store.change(aloneWith(row.project_id), change, { durable })
  if (changed !== null) service.visits.follow(row.runtime_id, to, open)
  return changed
}

/**
 * Returns the reason to store. A reason stays until another is given, and a running runtime has
 * none.
 */
function reasonTextOf(row: RuntimeRow, to: RuntimeState, reason: Reason | null): string | null {
  if (reason !== null) return JSON.stringify(reason)
  return to === 'running' ? null : row.state_reason_json
}
