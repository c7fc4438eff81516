import type { AuditEntry, Webhook, WebhookDelivery } from '@holt/protocol'
import type { Generated, Selectable } from 'kysely'

// As in tables.ts: times are milliseconds since 1970 UTC, and columns named `_json` hold JSON text.

/** What happened, in order. `cursor` is the place in the project's log. */
export interface EventsTable {
  readonly seq: Generated<number>
  readonly event_id: string
  readonly project_id: string
  readonly type: string
  readonly subject_id: string
  readonly data_json: string
  readonly at: number
  readonly cursor: Generated<number>
  /** Whose request it came of; null: the service by itself. */
  readonly key_id: string | null
}

/**
 * How far each project's log of events goes: the last cursor that was given, and the last that was
 * removed.
 */
export interface LogPositionsTable {
  readonly project_id: string
  readonly last: number
  readonly removed: number
}

/**
 * Where events are sent to; the secrets are sealed elsewhere. Everything up to `cursor` has been
 * sent or has a delivery.
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
  /** By which a rotation that is repeated is known. */
  readonly rotation_id: string | null
  /** Until when the secret of before signs as well. */
  readonly previous_until: number | null
  readonly failing_since: number | null
  readonly revision: number
  readonly created_at: number
  readonly updated_at: number
}

/** What was sent to webhooks, and what is tried again. `body` is what is sent, byte for byte. */
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
 * Who did what. Rows are written and completed, and removed when they are old: nothing else changes
 * them. It outlives its project.
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
