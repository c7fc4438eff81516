import { failpoint } from '@holt/failpoints'
import { GuestClient } from '@holt/guest-client'
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

/**
 * The time for a pool member to wake, in milliseconds. A healthy one takes about a millisecond. A
 * member that takes longer is discarded.
 */
const wakeTimeoutMs = 5_000

/** The maximum number of members that one create tries before it makes its own runtime. */
const maxTries = 3

/** The decisions of a create. Its row has the id of the create. */
interface Decided {
  readonly row: NewRuntimeRow
  readonly source: RuntimeSource
  readonly reservation: Reservation
}

/**
 * Turns a pool member into the runtime of a create, under the member's id, and applies all settings
 * of the create. A broken member is discarded, and the next one is tried. Returns null if no member
 * is left.
 */
export async function claimRuntime(service: Runtimes, decided: Decided): Promise<RuntimeRow | null> {
  const { row, source, reservation } = decided
  const shape = shapeOfSource(source, { cpu: row.cpu, memoryMiB: row.memory_mib })
  // A create that cannot be reserved takes no member out of a pool.
  if (shape === null || !canHaveDisk(service, { has: shape.diskMiB, wants: row.disk_mib })) return null
  // An application that has started cannot have the settings of the create.
  if (shape.startsLike !== null && !hasOnlySettingsOfSource(decided)) return null
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

/** Returns null if the member is broken, or if its source has changed. */
async function handOver(service: Runtimes, member: PoolMember, decided: Decided): Promise<RuntimeRow | null> {
  const { row, source } = decided
  const { runtimeId } = member
  const isPlain = await needsOnlyBind(service, member, decided)
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
 * Fails a claimed runtime that ended before it had a row, because that event reached no owner. Asks
 * the engine once more. The create need not wait: a later end is handled like any other.
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
  { runtimeId, shape }: PoolMember,
  decided: Decided,
): Promise<boolean> {
  const { commands } = decided.source
  if (hasNetwork(decided) || commands.onRestore !== null) return false
  if (commands.startCmd === null || shape.startsLike !== null) return true
  return (await engine.inspect(runtimeId))?.restored === true
}

function hasNetwork({ reservation: { network } }: Decided): boolean {
  return network.policy !== null || network.secrets.length > 0
}

/** Returns true if the commands of a create run as the template alone determines. */
function hasOnlySettingsOfSource(decided: Decided): boolean {
  const { row, source } = decided
  const hasOwn = row.env_json !== '{}' || row.user !== source.user || row.workdir !== source.workdir
  return !hasOwn && !hasNetwork(decided)
}

/** Thaws a member, with the disk size of the create. */
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
 * Gives a member to a project: replaces the member's row by the runtime's. Discards the member if
 * that is refused or its source has changed.
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
