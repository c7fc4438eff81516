import type { Observed } from '@holt/engine'
import { pause } from '../../foundation/async/pause.ts'
import { findRuntime, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { notEnded } from '../../foundation/rows/not-ended.ts'
import { hasEnded } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { recoverPause } from '../lifecycle/recover-pause.ts'
import type { Runtimes } from '../runtimes.ts'
import type { Reason } from '../state/change-state.ts'
import { failRuntime, lost, reasonOf, startInterrupted } from '../state/fail-runtime.ts'
import { MemoryKills } from './memory-kills.ts'

/** The delay before a broken stream of the engine is reopened, in milliseconds. */
const retryMs = 1000

/** The time limit for the removal of an unexpected runtime, in milliseconds. */
const removeTimeoutMs = 30_000

/**
 * Compares the rows with the runtimes of the engine, while the service runs: all of them at first,
 * then each change. `onListed` is called after each complete comparison. One record that cannot be
 * handled is logged and does not stop the others.
 */
export async function followEngine(service: Runtimes, onListed: () => void): Promise<void> {
  const memoryKills = new MemoryKills(service)
  while (!service.closing.aborted) {
    try {
      await followOnce(service, memoryKills, onListed)
    } catch (error) {
      if (!service.closing.aborted) service.log.error({ err: error }, 'the engine cannot be observed')
    }
    await pause(retryMs, service.closing)
  }
}

async function followOnce(service: Runtimes, memoryKills: MemoryKills, onListed: () => void): Promise<void> {
  const seen = new Map<string, Observed>()
  let listed = false
  for await (const observation of service.engine.observe(service.closing)) {
    if (observation.type === 'listed') {
      await reconcile(service, seen)
      listed = true
      onListed()
    } else if (!listed) {
      if (observation.type === 'present') seen.set(observation.observed.id, observation.observed)
      else seen.delete(observation.id)
    } else {
      const id = observation.type === 'present' ? observation.observed.id : observation.id
      const before = seen.get(id)
      if (observation.type === 'present') seen.set(id, observation.observed)
      else seen.delete(id)
      if (observation.type === 'present') {
        const { observed } = observation
        await guarded(service, id, () => memoryKills.note(before, observed))
        if (isTheSame(before, observed)) continue
      }
      await guarded(service, id, () => compareOne(service, id))
    }
  }
}

/**
 * Returns true if the change is not part of the runtime's row: a freeze, a thaw, or a kill for
 * memory.
 */
function isTheSame(before: Observed | undefined, { frozen, state, memoryKills }: Observed): boolean {
  if (before === undefined || before.state !== state) return false
  return before.frozen !== frozen || before.memoryKills.count !== memoryKills.count
}

async function reconcile(service: Runtimes, seen: ReadonlyMap<string, Observed>): Promise<void> {
  const { store, thisHost } = service
  const live = await store.db
    .selectFrom('runtimes')
    .select(['runtime_id'])
    .where('host_id', '=', thisHost.hostId)
    .where(notEnded)
    .execute()
  for (const id of new Set([...seen.keys(), ...live.map(({ runtime_id }) => runtime_id)])) {
    await guarded(service, id, () => compareOne(service, id))
  }
}

/** Compares one runtime's row with this host's engine and resolves the difference. */
async function compareOne(service: Runtimes, id: string): Promise<void> {
  // Asked first: a claim makes what waits in a pool a project's at any moment, and never the other
  // way.
  const pooled = await isPooled(service, id)
  const row = await anyRow(service, id)
  const observed = await service.engine.inspect(id)
  if (row === null && pooled) return observed?.ending === null ? undefined : service.pools.lost(id)
  if (row === null) return observed === null ? undefined : reportUnknown(service, observed)
  if (service.starts.has(id) || service.transitions.has(id)) return compareAfterChange(service, id)
  const ref = { projectId: row.project_id, runtimeId: id }
  if (hasEnded(row.state)) {
    if (observed !== null) await service.engine.remove(id, AbortSignal.timeout(removeTimeoutMs))
  } else if (row.host_id !== service.thisHost.hostId) {
    if (observed !== null) await removeForeign(service, ref)
  } else if (row.state === 'starting') {
    await fail(service, row, startInterrupted)
  } else if (row.state === 'pausing' || row.state === 'resuming' || row.state === 'paused') {
    if (row.state !== 'paused' || observed !== null) recoverBeside(service, row)
  } else if (row.state === 'running' && observed === null) {
    await fail(service, row, lost)
  } else if (row.state === 'running' && observed?.ending != null) {
    await fail(service, row, reasonOf(observed.ending))
  } else if (row.state === 'running') {
    if (observed?.frozen === true && !service.links.knows(id)) service.links.link(id).noteFrozen()
    if (service.networks.egressOf(id) !== null) return
    // After a start of the service: until here nothing listened, and nothing left the runtime.
    await service.networks.sync(ref)
  }
}

/**
 * Removes the parts on this host of a runtime that is another host's, or nobody's. This host may
 * take it at any moment, so its row is read again while nothing else acts on it.
 */
async function removeForeign(service: Runtimes, ref: RuntimeRef): Promise<void> {
  await service.transitions.run(ref.runtimeId, 'recovery', async () => {
    const row = await findRuntime(service, ref)
    if (row.host_id !== service.thisHost.hostId)
      await service.engine.remove(ref.runtimeId, AbortSignal.timeout(removeTimeoutMs))
    return row
  })
}

/** Fails a runtime. A runtime that changed meanwhile is compared again. */
async function fail(service: Runtimes, row: RuntimeRow, reason: Reason): Promise<void> {
  if (!(await failRuntime(service, row, reason))) await compareOne(service, row.runtime_id)
}

/**
 * Completes an interrupted pause or resume in the background. If it fails, the sweep tries again.
 */
function recoverBeside(service: Runtimes, row: RuntimeRow): void {
  void guarded(service, row.runtime_id, () => recoverPause(service, row))
}

/**
 * Compares a runtime again after the current action on it, because an observation during the action
 * may be its end. Nobody waits for that.
 */
function compareAfterChange(service: Runtimes, id: string): void {
  void Promise.all([service.starts.settled(id), service.transitions.settled(id)]).then(() =>
    guarded(service, id, () => compareOne(service, id)),
  )
}

/** Returns the row of a runtime of any project, because the engine knows no projects. */
async function anyRow({ store }: Runtimes, id: string): Promise<RuntimeRow | null> {
  return (await store.db.selectFrom('runtimes').selectAll().where('runtime_id', '=', id).executeTakeFirst()) ?? null
}

async function isPooled({ store }: Runtimes, id: string): Promise<boolean> {
  const row = await store.db
    .selectFrom('pool_members')
    .select('runtime_id')
    .where('runtime_id', '=', id)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Reports a runtime without a row, and keeps it, because the database may be an older copy.
 * Runtimes of template checkpoints and of builds are not reported.
 */
async function reportUnknown({ store, log }: Runtimes, observed: Observed): Promise<void> {
  const seed = await store.db
    .selectFrom('templates')
    .select('template_id')
    .where('seed_id', '=', observed.id)
    .executeTakeFirst()
  const noted = await store.db
    .selectFrom('build_resources')
    .select('build_id')
    .where('resource_id', '=', observed.id)
    .executeTakeFirst()
  if (seed === undefined && noted === undefined)
    log.warn(
      { runtime_id: observed.id, state: observed.state },
      'the engine has a runtime that is not in the database; it is kept',
    )
}

async function guarded({ log }: Runtimes, id: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    log.error({ err: error, runtime_id: id }, 'a runtime could not be reconciled')
  }
}
