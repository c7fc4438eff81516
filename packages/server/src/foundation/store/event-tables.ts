import type { AuditEntry, Webhook, WebhookDelivery } from '@holt/protocol'
import type { Generated, Selectable } from 'kysely'

// As in tables.ts: times are milliseconds since 1970 UTC, and columns named `_json` hold JSON text.

/** Events, in order. `cursor` is the place in the project's log. */
export interface EventsTable {
  readonly seq: Generated<number>
  readonly event_id: string
  readonly project_id: string
  readonly type: string
  readonly subject_id: string
  readonly data_json: string
  readonly at: number
  readonly cursor: Generated<number>
  /** The key of the request that caused the event; null if the service itself did. */
  readonly key_id: string | null
}

/**
 * The extent of each project's log of events: the last cursor that was given, and the last that was
 * removed.
 */
export interface LogPositionsTable {
  readonly project_id: string
  readonly last: number
  readonly removed: number
}

/**
 * The addresses that events are sent to. Their secrets are sealed elsewhere. Each event up to
 * `cursor` has been sent or has a delivery.
 */
export interface WebhooksTable {
  readonly seq: Generated<number>
  readonly webhook_id: string
  readonly project_id: string
  readonly url: string
  readonly types_json: string
  readonly description: string
  readonly state: Webhook['state']
  readonly state_reason_json: string | null
  readonly cursor: number
  readonly secret_version: number
  /** The request that rotated the secret last. A repeat of it is recognised by this. */
  readonly rotation_id: string | null
  /** The time until which the previous secret signs as well. */
  readonly previous_until: number | null
  readonly failing_since: number | null
  readonly revision: number
  readonly created_at: number
  readonly updated_at: number
}

/** The deliveries to webhooks, sent or to be retried. `body` is sent byte for byte. */
export interface WebhookDeliveriesTable {
  readonly seq: Generated<number>
  readonly delivery_id: string
  readonly webhook_id: string
  readonly project_id: string
  readonly event_id: string
  readonly event_cursor: number | null
  readonly type: string
  readonly body: string
  readonly state: WebhookDelivery['state']
  readonly redelivery_of: string | null
  readonly tries: number
  readonly attempts_json: string
  readonly next_attempt_at: number | null
  readonly created_at: number
  readonly ended_at: number | null
}

/**
 * The audit log: the caller and the request of each action. Rows are written, completed, and
 * removed when they are old. Nothing else changes them. A row outlives its project.
 */
export interface AuditTable {
  readonly seq: Generated<number>
  readonly audit_id: string
  readonly project_id: string | null
  readonly kind: AuditEntry['kind']
  readonly at: number
  readonly key_id: string | null
  readonly key_name: string | null
  readonly address: string
  readonly route: string | null
  readonly params_json: string
  readonly subject_id: string | null
  readonly status: number | null
  readonly request_id: string | null
  readonly count: number
  readonly last_at: number
}

/** An event as stored. */
export type EventRow = Selectable<EventsTable>
/** A webhook as stored. */
export type WebhookRow = Selectable<WebhooksTable>
/** A delivery as stored. */
export type DeliveryRow = Selectable<WebhookDeliveriesTable>
/** An audit entry as stored. */
export type AuditRow = Selectable<AuditTable>
