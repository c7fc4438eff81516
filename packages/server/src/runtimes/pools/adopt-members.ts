import { Semaphore } from '@holt/async'
import type { PoolMemberRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { type PoolMember, removeMember, settle } from './pool-member.ts'
import { shapeOfMember } from './pool-shape.ts'

/**
 * The number of members that are checked at the same time. Each is thawed, connects and answers.
 */
const atOnce = 8

/**
 * The time for a thawed guest to connect, in milliseconds. On a busy host it takes a second or two.
 */
const adoptTimeoutMs = 15_000

/**
 * Adopts the members of an earlier process that are complete, running and unclaimed. Removes the
 * others: incomplete ones, and those in a claim when that process ended. `keep` returns true if a
 * member is still needed, and owns it then.
 */
export async function adoptMembers(service: Runtimes, keep: (member: PoolMember) => boolean): Promise<void> {
  const { store, thisHost } = service
  const rows = await store.db
    .selectFrom('pool_members')
    .selectAll()
    .where('host_id', '=', thisHost.hostId)
    .orderBy('created_at')
    .execute()
  const semaphore = new Semaphore(atOnce)
  await Promise.all(rows.map((row) => semaphore.run(() => adoptOne(service, row, keep))))
}

async function adoptOne(service: Runtimes, row: PoolMemberRow, keep: (member: PoolMember) => boolean): Promise<void> {
  const { log, closing } = service
  const { runtime_id: runtimeId, created_at: madeAt } = row
  if (closing.aborted) return
  try {
    const isFit = row.state === 'ready' && (await isWaiting(service, runtimeId))
    if (isFit && keep({ runtimeId, shape: shapeOfMember(row), madeAt, machineId: null })) return
    await removeMember(service, runtimeId)
  } catch (error) {
    // Its row stays, and the next start looks at it again.
    log.error({ err: error, runtime_id: runtimeId }, 'a pooled runtime of an earlier process could not be removed')
  }
}

/** Returns true if a member runs and its guest has no owner. The member is frozen again then. */
async function isWaiting(service: Runtimes, runtimeId: string): Promise<boolean> {
  const { engine, log, closing } = service
  if ((await engine.inspect(runtimeId))?.state !== 'running') return false
  try {
    await engine.ability('freezer')?.thaw(runtimeId)
    await settle(service, runtimeId, AbortSignal.any([closing, AbortSignal.timeout(adoptTimeoutMs)]))
    return true
  } catch (error) {
    log.warn({ err: error, runtime_id: runtimeId }, 'a pooled runtime of an earlier process cannot be used')
    return false
  }
}
