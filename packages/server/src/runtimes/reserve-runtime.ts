import type { EngineFacts } from '@holt/engine'
import { HoltError, type RuntimeState } from '@holt/protocol'
import { recordEvent } from '../events/record-event.ts'
import { type DecidedNetwork, storeNetwork } from '../network/decide-network.ts'
import { requireQuotas } from '../projects/require-quotas.ts'
import type { Service } from '../service.ts'
import type { Queries } from '../store/open-store.ts'
import type { NewRuntimeRow, RuntimeRow } from '../store/tables.ts'
import { admit } from './admit.ts'
import { notEnded } from './not-ended.ts'
import { promisedMiB } from './promised.ts'
import { isCurrent } from './runtime-source.ts'

/** What a reservation goes by. */
export interface Reservation {
  readonly facts: EngineFacts
  readonly freeMemoryMiB: number | null
  readonly network: DecidedNetwork
  /** What it is restored with of somebody's memory; 0 where it begins with none. */
  readonly broughtBackMiB: number
  /** Where the runtime is one that waited in a pool; `running`: it is all that the create wants already. */
  readonly claimed?: { readonly running: boolean }
}

/**
 * Refuses a row whose name is taken, that its project may not have, or that the host has no room for. False where its source is another one by now. Asked without a transaction it is a
 * forecast: `reserveRuntime` decides.
 */
export async function mayReserve(
  service: Service,
  db: Queries,
  row: NewRuntimeRow,
  { facts, freeMemoryMiB, broughtBackMiB }: Reservation,
): Promise<boolean> {
  const { starts, restores, transitions, config } = service
  if (!(await isCurrent(db, row))) return false
  await requireFreeRuntimeName(db, row)
  const { project_id: projectId, cpu, memory_mib, disk_mib } = row
  await requireQuotas(service, db, { projectId, adds: { runtimes: 1, cpu, memory_mib, disk_mib } })
  admit({
    hostMemoryMiB: facts.memoryMiB,
    diskFreeMiB: facts.diskFreeMiB,
    freeMemoryMiB,
    promisedMiB: await promisedMiB(db),
    starting: starts.size + transitions.resuming,
    overcommit: config.memoryOvercommit,
    reserve: config.reserve,
    memoryMiB: row.memory_mib,
    broughtBackMiB,
    arrivingMiB: restores.memoryMiB(row.runtime_id),
  })
  return true
}

/** Writes the row if its name is free, its project may have it and the host has room, as one transaction. Null where its source is another one by now. */
export async function reserveRuntime(
  service: Service,
  row: NewRuntimeRow,
  reservation: Reservation,
): Promise<RuntimeRow | null> {
  const { network, claimed } = reservation
  const reserve = service.store.change(async (changes) => {
    if (!(await mayReserve(service, changes, row, reservation))) return null
    service.restores.begin(row.runtime_id, reservation.broughtBackMiB)
    if (claimed !== undefined) await leavePool(changes, row.runtime_id)
    const at = service.now()
    const started = claimed?.running === true ? ({ state: 'running', started_at: at, updated_at: at } as const) : {}
    const stored = await changes
      .insertInto('runtimes')
      .values({ ...row, ...started })
      .returningAll()
      .executeTakeFirstOrThrow()
    const ref = { projectId: row.project_id, runtimeId: row.runtime_id }
    await storeNetwork(service, changes, { ref, network, at: row.created_at })
    await tell(changes, row, { from: null, to: 'starting', at: row.created_at })
    if (stored.state === 'running') await tell(changes, row, { from: 'starting', to: 'running', at })
    return stored
  })
  try {
    return await reserve
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
  changes: Queries,
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

async function requireFreeRuntimeName(changes: Queries, { name, project_id }: NewRuntimeRow): Promise<void> {
  if (name === null || name === undefined) return
  const taken = await changes
    .selectFrom('runtimes')
    .select('runtime_id')
    .where('project_id', '=', project_id)
    .where('name', '=', name)
    .where(notEnded)
    .executeTakeFirst()
  if (taken === undefined) return
  throw new HoltError('name_taken', `A runtime named ${name} exists.`, { details: { runtime_id: taken.runtime_id } })
}
