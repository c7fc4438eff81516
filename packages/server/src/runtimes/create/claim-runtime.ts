import { failpoint, GuestClient } from '@holt/engine'
import { findRuntime } from '../../foundation/rows/find-runtime.ts'
import type { NewRuntimeRow, RuntimeRow } from '../../foundation/store/tables.ts'
import type { PoolMember } from '../pools/pool-member.ts'
import type { Runtimes } from '../runtimes.ts'
import { failRuntime, lost, reasonOf } from '../state/fail-runtime.ts'
import { bindRuntime } from './bind-runtime.ts'
import { mayReserve, type Reservation, reserveRuntime } from './reserve-runtime.ts'
import type { RuntimeSource } from './runtime-source.ts'
import { shapeOfSource } from './shape-of-source.ts'
import { bringUp } from './start-runtime.ts'

/** A guest that waits answers in a millisecond. One that does not within this time is of no use. */
const wakeTimeoutMs = 5_000

/** How many members one create tries; then it makes its runtime itself. */
const maxTries = 3

/** The decisions of a create. Its row has the id of the create. */
interface Decided {
  readonly row: NewRuntimeRow
  readonly source: RuntimeSource
  readonly reservation: Reservation
}

/**
 * Makes a runtime that waits in a pool the one of a create, under the id that it has already.
 * Everything that the create says is applied now. One that turns out to be of no use is let go of,
 * and the next is taken. Null where none is left: the runtime has to be made.
 */
export async function claimRuntime(service: Runtimes, decided: Decided): Promise<RuntimeRow | null> {
  const { row, source, reservation } = decided
  const shape = shapeOfSource(source, { cpu: row.cpu, memoryMiB: row.memory_mib })
  // What cannot be reserved takes nobody out of a pool.
  if (shape === null || !canHaveDisk(service, { has: shape.diskMiB, wants: row.disk_mib })) return null
  if (!(await mayReserve(service, service.store.db, row, reservation))) return null
  for (let tries = 0; tries < maxTries; tries += 1) {
    const member = service.pools.claim(shape, source.templateName, { again: tries > 0 })
    if (member === null) return null
    const mine = { ...row, runtime_id: member.runtimeId, creation_id: row.runtime_id }
    const claimed = await handOver(service, member, { ...decided, row: mine })
    if (claimed !== null) return claimed
  }
  return null
}

/**
 * Returns true if the disk of a member can become as large as the create wants. Not every host can
 * grow a disk in use.
 */
function canHaveDisk({ engine }: Runtimes, { has, wants }: { has: number; wants: number }): boolean {
  return wants === has || (wants > has && engine.ability('disks')?.canGrow === true)
}

/** Null where the member was of no use, or the source is another one by now. */
async function handOver(service: Runtimes, member: PoolMember, decided: Decided): Promise<RuntimeRow | null> {
  const { row, source } = decided
  const { runtimeId } = member
  const isPlain = await needsOnlyBind(service, runtimeId, decided)
  try {
    await service.pools.waking.run(async () => {
      const signal = AbortSignal.timeout(wakeTimeoutMs)
      await failpoint('claim.taken')
      await wake(service, member, { diskMiB: row.disk_mib, signal })
      await failpoint('claim.woken')
      if (isPlain)
        await bindRuntime(service, row, { env: source.env, renew: false, machineId: member.machineId, signal })
      else await new GuestClient(await service.engine.dial(runtimeId, signal)).info(signal)
      await failpoint('claim.bound')
    })
  } catch (error) {
    service.log.warn({ err: error, runtime_id: runtimeId }, 'a create could not use a pooled runtime')
    service.pools.discard(member)
    return null
  }
  if (isPlain) {
    const owned = await own(service, member, { ...decided, running: true })
    if (owned !== null) void failIfOver(service, owned)
    return owned
  }
  return service.starts.run(runtimeId, async (stopped) => {
    const reserved = await own(service, member, { ...decided, running: false })
    return reserved === null ? null : bringUp(service, reserved, source, stopped)
  })
}

/**
 * A member whose end came before its row was neither the pool's nor anybody's, so what the engine
 * said of it is lost: it is asked once more. The create need not wait: one that ends now ends like
 * any that runs.
 */
async function failIfOver(
  service: Runtimes,
  { runtime_id: runtimeId, project_id: projectId }: RuntimeRow,
): Promise<void> {
  try {
    let failed = false
    while (!failed) {
      const row = await findRuntime(service, { projectId, runtimeId })
      if (row.state !== 'running') return
      const observed = await service.engine.inspect(runtimeId)
      if (observed !== null && observed.ending === null) return
      failed = await failRuntime(service, row, observed?.ending ? reasonOf(observed.ending) : lost)
    }
  } catch (error) {
    service.log.error({ err: error, runtime_id: runtimeId }, 'a runtime could not be examined after it was claimed')
  }
}

/**
 * Returns true if the bind alone completes a member. Then it is bound before its row is written,
 * and the row is written once, as `running`. If the service stops in between, the next start finds
 * a bound member and removes it. A network and commands need the row first.
 */
async function needsOnlyBind(
  { engine }: Runtimes,
  runtimeId: string,
  { source: { commands }, reservation: { network } }: Decided,
): Promise<boolean> {
  if (network.policy !== null || network.secrets.length > 0 || commands.onRestore !== null) return false
  return commands.startCmd === null || (await engine.inspect(runtimeId))?.restored === true
}

/** Has a member go on, with the disk that the create wants. */
async function wake(
  { engine }: Runtimes,
  { runtimeId, shape }: PoolMember,
  { diskMiB, signal }: { diskMiB: number; signal: AbortSignal },
): Promise<void> {
  await engine.ability('freezer')?.thaw(runtimeId)
  if (diskMiB === shape.diskMiB) return
  await engine.ability('disks')?.grow(runtimeId, diskMiB, signal)
}

/**
 * Makes a member a project's: its row goes, and the runtime's comes. What is refused, or has
 * changed, is let go of.
 */
async function own(
  service: Runtimes,
  member: PoolMember,
  { row, reservation, running }: Decided & { readonly running: boolean },
): Promise<RuntimeRow | null> {
  try {
    const stored = await reserveRuntime(service, row, { ...reservation, claimed: { running } })
    await failpoint('claim.owned')
    if (stored === null) service.pools.discard(member)
    return stored
  } catch (error) {
    service.pools.discard(member)
    throw error
  }
}
