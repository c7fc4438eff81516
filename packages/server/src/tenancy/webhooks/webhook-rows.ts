import { type DeliveryAttempt, isIdParam, type Webhook, type WebhookDelivery } from '@holt/protocol'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import type { DeliveryRow, WebhookRow } from '../../foundation/store/event-tables.ts'
import { moment, momentOrNull } from '../../foundation/store/moment.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { storedJson } from '../../foundation/store/stored-json.ts'
import { etagOf } from '../../foundation/wire/if-match.ts'

/** The project and the id of a webhook. */
export interface WebhookRef {
  readonly projectId: string
  readonly webhookId: string
}

/** Returns a webhook of a project. Throws if there is none. */
export async function findWebhook(db: Queries, { projectId, webhookId }: WebhookRef): Promise<WebhookRow> {
  const row = isIdParam('webhook_id', webhookId) ? await webhookRow(db, { projectId, webhookId }) : undefined
  if (row === undefined) throw idNotFound('webhook_not_found', webhookId)
  return row
}

/** Returns a webhook of a project by a valid id, if there is one. */
export async function webhookRow(db: Queries, { projectId, webhookId }: WebhookRef): Promise<WebhookRow | undefined> {
  return db
    .selectFrom('webhooks')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('webhook_id', '=', webhookId)
    .executeTakeFirst()
}

/** Returns the number of deliveries that wait for a retry, for each webhook. */
export async function retryingOf(
  db: Queries,
  { projectId, webhookIds }: { projectId: string; webhookIds: readonly string[] },
): Promise<ReadonlyMap<string, number>> {
  if (webhookIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('webhook_deliveries')
    .select(({ fn }) => ['webhook_id', fn.countAll().as('count')] as const)
    .where('project_id', '=', projectId)
    .where('webhook_id', 'in', webhookIds)
    .where('state', '=', 'retrying')
    .groupBy('webhook_id')
    .execute()
  return new Map(rows.map(({ webhook_id, count }) => [webhook_id, Number(count)]))
}

/** Returns the types that a webhook asks for, empty for all. Returns null if its row is damaged. */
export function storedTypes({ types_json }: Pick<WebhookRow, 'types_json'>): readonly string[] | null {
  const types = storedJson(types_json)
  return Array.isArray(types) && types.every((type) => typeof type === 'string') ? types : null
}

/** Returns a webhook as clients see it. */
export function presentWebhook(row: WebhookRow, retrying: number): Webhook {
  return {
    webhook_id: row.webhook_id as Webhook['webhook_id'],
    url: row.url,
    types: JSON.parse(row.types_json),
    description: row.description,
    state: row.state,
    state_reason: row.state_reason_json === null ? null : JSON.parse(row.state_reason_json),
    cursor: Number(row.cursor),
    retrying,
    failing_since: momentOrNull(row.failing_since),
    previous_secret_until: momentOrNull(row.previous_until),
    etag: etagOf(row.revision),
    created_at: moment(row.created_at),
    updated_at: moment(row.updated_at),
  }
}

/** Returns a delivery as clients see it. */
export function presentDelivery(row: DeliveryRow): WebhookDelivery {
  const attempts = JSON.parse(row.attempts_json) as readonly (Omit<DeliveryAttempt, 'at'> & { at: number })[]
  return {
    delivery_id: row.delivery_id as WebhookDelivery['delivery_id'],
    webhook_id: row.webhook_id as WebhookDelivery['webhook_id'],
    event_id: row.event_id as WebhookDelivery['event_id'],
    event_cursor: row.event_cursor === null ? null : Number(row.event_cursor),
    type: row.type,
    state: row.state,
    redelivery_of: row.redelivery_of as WebhookDelivery['redelivery_of'],
    attempts: attempts.map((attempt) => ({ ...attempt, at: moment(attempt.at) })),
    next_attempt_at: momentOrNull(row.next_attempt_at),
    created_at: moment(row.created_at),
    ended_at: momentOrNull(row.ended_at),
  }
}
