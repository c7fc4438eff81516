import type { RuntimeState } from '@holt/protocol'
import { ownedBy } from '../../foundation/host/this-host.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { Changes, Queries } from '../../foundation/store/open-store.ts'
import type { NewRuntimeRow, RuntimeRow } from '../../foundation/store/tables.ts'
import { type DecidedNetwork, prepareCaKey, storeNetwork } from '../../resources/network/decide-network.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import { type HostFacts, requireRoom } from '../admission/require-room.ts'
import type { Runtimes } from '../runtimes.ts'
import { isCurrent } from './runtime-source.ts'

/** The facts of a reservation. */
export interface Reservation extends HostFacts {
  readonly network: DecidedNetwork
  /**
   * Set if the runtime is a pool member. `running`: the member already has all settings of the
   * create.
   */
  readonly claimed?: { readonly running: boolean }
}

/**
 * Throws if the name of a row is in use, if the project's quota is exceeded, or if the host has no
 * room. Returns false if its source has changed. Outside a transaction the result is a forecast;
 * `reserveRuntime` decides.
 */
export async function mayReserve(
  service: Runtimes,
  db: Queries,
  row: NewRuntimeRow,
  reservation: Reservation,
): Promise<boolean> {
  if (!(await isCurrent(db, row, service.artifacts))) return false
  const { runtime_id: runtimeId, project_id: projectId, name = null, cpu, memory_mib, disk_mib: diskMiB } = row
  const size = { cpu, memoryMiB: memory_mib, diskMiB }
  const wanted = { projectId, runtimeId, name, size }
  await requireRoom(service, db, { wanted, host: reservation, arrives: db.isTransaction })
  return true
}

/**
 * Writes the row, in one transaction with the checks of its name, quota and room. Returns null if
 * its source has changed.
 */
export async function reserveRuntime(
  service: Runtimes,
  row: NewRuntimeRow,
  reservation: Reservation,
): Promise<RuntimeRow | null> {
  const { network, claimed } = reservation
  const ref = { projectId: row.project_id, runtimeId: row.runtime_id }
  const storeCaKey = network.ca === null ? null : await prepareCaKey(service, ref, network.ca)
  const reserve = async (changes: Changes) => {
    // Before the check: a change of another project may check meanwhile.
    service.restores.begin(row.runtime_id, reservation.broughtBackMiB)
    if (!(await mayReserve(service, changes, row, reservation))) {
      service.restores.end(row.runtime_id)
      return null
    }
    if (claimed !== undefined) await leavePool(changes, row.runtime_id)
    const at = service.now()
    const started = claimed?.running === true ? ({ state: 'running', started_at: at, updated_at: at } as const) : {}
    const stored = await changes
      .insertInto('runtimes')
      .values({ ...row, ...started, ...ownedBy(service.thisHost) })
      .returningAll()
      .executeTakeFirstOrThrow()
    await storeNetwork(changes, { ref, network, storeCaKey, at: row.created_at })
    await tell(changes, row, { from: null, to: 'starting', at: row.created_at })
    if (stored.state === 'running') await tell(changes, row, { from: 'starting', to: 'running', at })
    return stored
  }
  try {
    return await service.arrivals.during(row.runtime_id, () => service.store.change(aloneWith(row.project_id), reserve))
  } catch (error) {
    service.restores.end(row.runtime_id)
    throw error
  }
}

async function leavePool(changes: Queries, runtimeId: string): Promise<void> {
  const left = await changes.deleteFrom('pool_members').where('runtime_id', '=', runtimeId).executeTakeFirst()
  if (left.numDeletedRows !== 1n) throw new Error(`${runtimeId} is in no pool`)
}

async function tell(
  changes: Changes,
  { project_id: projectId, runtime_id: subjectId }: NewRuntimeRow,
  { from, to, at }: { from: RuntimeState | null; to: RuntimeState; at: number },
): Promise<void> {
  await recordEvent(changes, {
    projectId,
    type: `runtime.${to}`,
    subjectId,
    data: { from, to, reason: null },
    at,
  })
}
