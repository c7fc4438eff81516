import { removeOldBuilds } from '../builds/remove-old-builds.ts'
import { Lifetimes } from '../lifecycle/lifetimes.ts'
import { pause } from '../pause.ts'
import type { Service } from '../service.ts'

/** How late a deadline may be. */
const sweepMs = 1000

/** Old rows are looked for, and the disk's reserve is seen to, once in so many sweeps. */
const sweepsPerCleaning = 60

const dayMs = 24 * 3600 * 1000

/** How long rows stay after what they tell of is over. */
const keptMs = { runtimes: 7 * dayMs, events: 30 * dayMs, idempotency: dayMs }

/** Looks after the lifetimes of runtimes and lets go of old rows, for as long as the service runs. */
export async function sweepForever(service: Service): Promise<void> {
  const lifetimes = new Lifetimes(service)
  for (let count = 0; !service.closing.aborted; count += 1) {
    try {
      await lifetimes.look()
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

/** Removes rows of every project that are older than they are kept. */
async function removeOldRows({ store, now, signingKeys }: Service): Promise<void> {
  const at = now()
  await store.db
    .deleteFrom('runtimes')
    .where('ended_at', '<', at - keptMs.runtimes)
    .execute()
  await store.db
    .deleteFrom('snapshots')
    .where('state', '=', 'failed')
    .where('created_at', '<', at - keptMs.runtimes)
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
