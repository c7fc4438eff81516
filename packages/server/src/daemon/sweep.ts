import type { Api } from '../api/api.ts'
import { removeOldBuilds } from '../builds/remove-old-builds.ts'
import { removeOrphans } from '../builds/remove-orphans.ts'
import { removeOldRequests } from '../e2b/control/remove-old-requests.ts'
import { pause } from '../foundation/async/pause.ts'
import { filesMissingPattern } from '../foundation/rows/files-missing.ts'
import { dayMs } from '../foundation/time/day.ts'
import type { ClockWatch } from '../runtimes/lifecycle/clock-watch.ts'
import { Lifetimes } from '../runtimes/lifecycle/lifetimes.ts'
import { OldAudit } from '../tenancy/audit/old-audit.ts'
import { removeOldSessions } from '../tenancy/console/console-sessions.ts'
import { removeOldEvents } from '../tenancy/events/remove-old-events.ts'
import { removeOldRecords } from '../tenancy/idempotency/kept-records.ts'
import { endDueTokens } from '../tenancy/keys/end-tokens.ts'
import { removeOldDeliveries } from '../tenancy/webhooks/remove-old-deliveries.ts'
import { removePreviousSecrets } from '../tenancy/webhooks/webhook-secrets.ts'

/** The maximum delay of a deadline. */
const sweepMs = 1000

/**
 * The number of sweeps between two searches for old rows, and between two checks of the disk's
 * reserve.
 */
const sweepsPerCleaning = 60

/** The number of sweeps between two looks at webhooks that other hosts of a fleet have changed. */
const sweepsPerWebhooks = 5

/**
 * The audit log is counted to find the excess. Each sweep counts a part of it, and later removes a
 * part of the excess.
 */
const sweepsPerAuditCleaning = 60 * sweepsPerCleaning

/** The time for which rows are kept after their subject has ended. */
const keptMs = 7 * dayMs

/** Enforces the lifetimes of runtimes and removes old rows, while the service runs. */
export async function sweepForever(service: Api, clock: ClockWatch): Promise<void> {
  const lifetimes = new Lifetimes(service, clock)
  const isInFleet = service.config.fleet !== null
  const isWorker = service.config.fleet?.role === 'worker'
  const oldAudit = new OldAudit(service)
  let auditIsLong = false
  let eventsAreMany = false
  for (let count = 0; !service.closing.aborted; count += 1) {
    try {
      await lifetimes.look()
      if (!isWorker) await endDueTokens(service)
      if (isInFleet && !isWorker && count % sweepsPerWebhooks === 0) await service.webhooks.start()
      const cleans = service.duties.holds('cleaner')
      if (cleans && (auditIsLong || count % sweepsPerAuditCleaning === 0)) auditIsLong = await oldAudit.removeSome()
      if (cleans && (eventsAreMany || count % sweepsPerCleaning === 0)) eventsAreMany = await removeOldEvents(service)
      if (cleans && count % sweepsPerCleaning === 0) await cleanRows(service)
      if (isInFleet && count % sweepsPerCleaning === 0) await removeOrphans(service)
      if (count % sweepsPerCleaning === 0) {
        service.collector.request()
        service.store.refillReserve()
      }
    } catch (error) {
      service.log.error({ err: error }, 'a sweep failed')
    }
    await pause(sweepMs, service.closing)
  }
}

/** Removes what is no longer kept, in every table. */
async function cleanRows(service: Api): Promise<void> {
  await removeOldRows(service)
  await removeOldBuilds(service)
  await removeOldRequests(service)
  await removeOldSessions(service)
  // Nothing of a fleet is loaded on a machine that is in none.
  if (service.config.fleet !== null) await (await import('../fleet/trust/worker-errands.ts')).removeOldErrands(service)
  await removeOldDeliveries(service)
  await removePreviousSecrets(service)
}

/** Removes rows of every project that are older than they are kept. */
async function removeOldRows({ store, records, now, signingKeys }: Api): Promise<void> {
  const at = now()
  await store.db
    .deleteFrom('runtimes')
    .where('ended_at', '<', at - keptMs)
    .execute()
  await store.db
    .deleteFrom('snapshots')
    .where('state', '=', 'failed')
    // One whose files are missing stays until they are back, or somebody deletes it.
    .where('state_reason_json', 'not like', filesMissingPattern)
    .where('created_at', '<', at - keptMs)
    .execute()
  await removeOldRecords({ store, records }, at)
  // A deleted secret is kept only while a runtime still has its placeholder.
  await store.db
    .deleteFrom('secrets')
    .where('deleted_at', 'is not', null)
    .where('secret_id', 'not in', ({ selectFrom }) => selectFrom('runtime_secrets').select('secret_id'))
    .execute()
  await signingKeys.removeOld()
}
