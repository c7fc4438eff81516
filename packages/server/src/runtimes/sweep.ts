import { removeOldBuilds } from '../builds/remove-old-builds.ts'
import { pause } from '../pause.ts'
import type { Service } from '../service.ts'
import { endRuntime } from './end-runtime.ts'

/** How late a deadline may be. */
const sweepMs = 1000

/** Old rows are looked for, and the disk's reserve is seen to, once in so many sweeps. */
const sweepsPerCleaning = 60

const dayMs = 24 * 3600 * 1000

/** How long rows stay after what they tell of is over. */
const keptMs = { runtimes: 7 * dayMs, events: 30 * dayMs, idempotency: dayMs }

/** Ends what is past its deadline, goes on with ends that did not finish, and lets go of old rows, for as long as the service runs. */
export async function sweepForever(service: Service): Promise<void> {
  const ending = new Set<string>()
  for (let count = 0; !service.closing.aborted; count += 1) {
    try {
      await endOverdue(service, ending)
      if (count % sweepsPerCleaning === 0) {
        await removeOldRows(service)
        await removeOldBuilds(service)
        service.builds.collector.request()
        service.store.refillReserve()
      }
    } catch (error) {
      service.log.error({ err: error }, 'a sweep failed')
    }
    await pause(sweepMs, service.closing)
  }
}

/** Begins the end of each overdue runtime and does not wait for it. `ending` has those that are being ended. */
async function endOverdue(service: Service, ending: Set<string>): Promise<void> {
  for (const { projectId, runtimeId, overdue } of await findOverdue(service)) {
    if (ending.has(runtimeId)) continue
    ending.add(runtimeId)
    const reason = overdue ? { code: 'timeout', message: 'Its timeout_secs had passed.' } : null
    endRuntime(service, { projectId, runtimeId }, reason)
      .catch((error) =>
        service.log.error({ err: error, runtime_id: runtimeId }, 'a runtime could not be ended; it is tried again'),
      )
      .finally(() => ending.delete(runtimeId))
  }
}

/** Runtimes past their deadline, and those whose end began some time ago, of every project. */
async function findOverdue({
  store,
  now,
}: Service): Promise<readonly { projectId: string; runtimeId: string; overdue: boolean }[]> {
  const at = now()
  const due = await store.db
    .selectFrom('runtimes')
    .select(['project_id', 'runtime_id'])
    .where('state', '=', 'running')
    .where('expires_at', '<=', at)
    .execute()
  const unfinished = await store.db
    .selectFrom('runtimes')
    .select(['project_id', 'runtime_id'])
    .where('state', '=', 'terminating')
    .where('updated_at', '<=', at - sweepMs)
    .execute()
  return [
    ...due.map((row) => ({ projectId: row.project_id, runtimeId: row.runtime_id, overdue: true })),
    ...unfinished.map((row) => ({ projectId: row.project_id, runtimeId: row.runtime_id, overdue: false })),
  ]
}

/** Removes rows of every project that are older than they are kept. */
async function removeOldRows({ store, now, signingKeys }: Service): Promise<void> {
  const at = now()
  await store.db
    .deleteFrom('runtimes')
    .where('ended_at', '<', at - keptMs.runtimes)
    .execute()
  await store.db
    .deleteFrom('events')
    .where('at', '<', at - keptMs.events)
    .execute()
  await store.db
    .deleteFrom('idempotency')
    .where('created_at', '<', at - keptMs.idempotency)
    .execute()
  // A deleted secret is kept only while a runtime still has its placeholder.
  await store.db
    .deleteFrom('secrets')
    .where('deleted_at', 'is not', null)
    .where('secret_id', 'not in', ({ selectFrom }) => selectFrom('runtime_secrets').select('secret_id'))
    .execute()
  await signingKeys.removeOld()
}
