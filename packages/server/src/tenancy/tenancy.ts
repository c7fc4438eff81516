import type { Foundation } from '../foundation/foundation.ts'
import { ChangesElsewhere } from '../foundation/host/changes-elsewhere.ts'
import { AuditLog } from './audit/audit-log.ts'
import { OwnCalls } from './audit/own-calls.ts'
import { LikelyProjects } from './auth/likely-projects.ts'
import { OpenStreams } from './auth/open-streams.ts'
import { OpenVisits } from './auth/open-visits.ts'
import { RecentKeys } from './auth/recent-keys.ts'
import { validCredentials } from './auth/valid-credentials.ts'
import { LinkCodes } from './console/link-codes.ts'
import type { EventNotifier } from './events/event-notifier.ts'
import { Followers } from './events/followers.ts'
import { RecordState } from './idempotency/record-state.ts'
import { RequestRates } from './limits/request-rates.ts'
import type { Rate } from './limits/token-buckets.ts'
import { ProjectQuotas } from './projects/project-quotas.ts'
import type { DialWebhook } from './webhooks/post-message.ts'
import { Webhooks } from './webhooks/webhooks.ts'

/** The handle of tenancy: projects, their keys and limits, and the records of what they do. */
export interface Tenancy extends Foundation {
  readonly changesElsewhere: ChangesElsewhere
  readonly recentKeys: RecentKeys
  readonly likelyProjects: LikelyProjects
  readonly streams: OpenStreams
  /** The codes of links that sign browsers in. */
  readonly linkCodes: LinkCodes
  /** The connections of E2B's clients to runtimes. */
  readonly visits: OpenVisits
  readonly rates: RequestRates
  readonly projects: ProjectQuotas
  readonly eventNotifier: EventNotifier
  /** The streams of the logs of events. */
  readonly followers: Followers
  /** The state of the records of `Idempotency-Key`. */
  readonly records: RecordState
  readonly webhooks: Webhooks
  readonly audit: AuditLog
  /** The calls of the service to its own API. */
  readonly ownCalls: OwnCalls
}

/** The parts of tenancy that are opened elsewhere. */
interface TenancyOptions {
  /** Notifies of the events that the store of the foundation commits. */
  readonly eventNotifier: EventNotifier
  readonly dialWebhook: DialWebhook
  /** The rate at which an address may send wrong keys. */
  readonly failureRate?: Rate | undefined
}

/** Makes the parts of tenancy. */
export function openTenancy(
  foundation: Foundation,
  { eventNotifier, dialWebhook, failureRate }: TenancyOptions,
): Tenancy {
  const { store, log, now, monotonic, config } = foundation
  const tenancy: Tenancy = {
    ...foundation,
    changesElsewhere: new ChangesElsewhere(),
    recentKeys: new RecentKeys(),
    likelyProjects: new LikelyProjects(),
    streams: new OpenStreams((keyIds) => validCredentials(store.db, keyIds, now()), now),
    linkCodes: new LinkCodes(now),
    visits: new OpenVisits(),
    rates: new RequestRates(monotonic, failureRate),
    projects: new ProjectQuotas({ store, log }, config.projectQuotas),
    eventNotifier,
    followers: new Followers(),
    records: new RecordState(),
    webhooks: new Webhooks(() => tenancy, dialWebhook),
    audit: new AuditLog(store, log, now),
    ownCalls: new OwnCalls(),
  }
  return tenancy
}
