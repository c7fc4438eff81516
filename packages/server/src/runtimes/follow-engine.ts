import type { Observed } from '@holt/engine'
import { pause } from '../pause.ts'
import type { Service } from '../service.ts'
import type { RuntimeRow } from '../store/tables.ts'
import { failRuntime, reasonOf } from './fail-runtime.ts'
import { endedStates, hasEnded } from './states.ts'

/** Pause before the engine is asked again after its stream broke. */
const retryMs = 1000

/** Time to remove what should not be there any more. */
const removeTimeoutMs = 30_000

/**
 * Compares what should exist with what the engine sees: everything at first, then each change, for as long as the service runs.
 * `onListed` is called after each complete comparison. One record that cannot be handled is logged and does not stop the others.
 */
export async function followEngine(service: Service, onListed: () => void): Promise<void> {
  while (!service.closing.aborted) {
    try {
      await followOnce(service, onListed)
    } catch (error) {
      if (!service.closing.aborted) service.log.error({ err: error }, 'the engine cannot be observed')
    }
    await pause(retryMs, service.closing)
  }
}

async function followOnce(service: Service, onListed: () => void): Promise<void> {
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
      await guarded(service, id, () => compareOne(service, id))
    }
  }
}

async function reconcile(service: Service, seen: ReadonlyMap<string, Observed>): Promise<void> {
  const live = await service.store.db
    .selectFrom('runtimes')
    .select(['runtime_id'])
    .where('state', 'not in', endedStates)
    .execute()
  for (const id of new Set([...seen.keys(), ...live.map(({ runtime_id }) => runtime_id)])) {
    await guarded(service, id, () => compareOne(service, id))
  }
}

/** Brings one runtime's row and the engine together. */
async function compareOne(service: Service, id: string): Promise<void> {
  const row = await anyRow(service, id)
  const observed = await service.engine.inspect(id)
  if (row === null) return observed === null ? undefined : reportUnknown(service, observed)
  if (service.starts.has(id)) return compareAfterStart(service, id)
  const ref = { projectId: row.project_id, runtimeId: id }
  if (hasEnded(row.state)) {
    if (observed !== null) await service.engine.remove(id, AbortSignal.timeout(removeTimeoutMs))
  } else if (row.state === 'starting') {
    await failRuntime(service, ref, { code: 'interrupted', message: 'The service stopped while it made this runtime.' })
  } else if (row.state === 'running' && observed === null) {
    await failRuntime(service, ref, { code: 'lost', message: 'The host does not have this runtime any more.' })
  } else if (row.state === 'running' && observed?.ending != null) {
    await failRuntime(service, ref, reasonOf(observed.ending))
  } else if (row.state === 'running' && service.networks.egressOf(id) === null) {
    // After a start of the service: until here nothing listened, and nothing left the runtime.
    await service.networks.sync(ref)
  }
}

/** What is seen of a runtime while it starts may be its end: it is looked at again when the start is over, and nobody waits for that. */
function compareAfterStart(service: Service, id: string): void {
  void service.starts.settled(id).then(() => guarded(service, id, () => compareOne(service, id)))
}

/** The row of a runtime of any project: the engine knows no projects. */
async function anyRow({ store }: Service, id: string): Promise<RuntimeRow | null> {
  return (await store.db.selectFrom('runtimes').selectAll().where('runtime_id', '=', id).executeTakeFirst()) ?? null
}

/** A runtime that no row knows is not touched: the database may be older than it is. A template's seed is its builder's, and what a build notes is the build's. */
async function reportUnknown({ store, log }: Service, observed: Observed): Promise<void> {
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
      'the engine has a runtime that the database does not know; it is kept',
    )
}

async function guarded({ log }: Service, id: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    log.error({ err: error, runtime_id: id }, 'a runtime could not be reconciled')
  }
}
