import { setImmediate } from 'node:timers/promises'
import { eventTypes, typesMatching } from '@holt/protocol'
import type { DeliveryRow, EventRow, WebhookRow } from '../../foundation/store/event-tables.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { type EventFilter, eventsAfter, logPosition, presentEvent, reachAfter } from '../events/read-events.ts'
import type { Tenancy } from '../tenancy.ts'
import { holdingTries } from './retry-schedule.ts'
import { storedTypes } from './webhook-rows.ts'

/** The next message to send: a retry of a delivery, or a new event. */
export type NextMessage =
  | { readonly type: 'again'; readonly delivery: DeliveryRow }
  | { readonly type: 'event'; readonly event: EventRow; readonly body: string }
  /** No message yet. `dueAt` is the time of the next retry, and `looked` the examined cursor. */
  | { readonly type: 'none'; readonly dueAt: number | null; readonly looked: number }
  /** No message except retries until the webhook is changed. Its event types are unknown. */
  | { readonly type: 'damaged'; readonly dueAt: number | null }

/**
 * Returns a webhook's next message: a due retry, or else the next event of the log. A delivery with
 * few failures blocks the ones behind it, so that a restarted receiver gets everything in order. A
 * delivery with more failures does not block.
 */
export async function nextMessage(service: Tenancy, row: WebhookRow, looked: number): Promise<NextMessage> {
  const { store, now } = service
  const again = await firstRetry(store.db, row, null)
  if (again?.next_attempt_at != null && again.next_attempt_at <= now()) return { type: 'again', delivery: again }
  const dueAt = again?.next_attempt_at ?? null
  const holding = again === undefined ? undefined : await firstRetry(store.db, row, holdingTries)
  const from = Math.max(Number(row.cursor), looked)
  if (holding !== undefined) return { type: 'none', dueAt, looked: from }
  const types = storedTypes(row)
  if (types === null) return { type: 'damaged', dueAt }
  const { last, removed } = await logPosition(store.db, row.project_id)
  if (removed > Number(row.cursor) && looked === 0)
    service.log.warn(
      { webhook_id: row.webhook_id, events: removed - Number(row.cursor) },
      'events were too old to send',
    )
  const filter = { projectId: row.project_id, types: types.length === 0 ? undefined : typesMatching(types, eventTypes) }
  const event = await firstAfter(store.db, filter, { from, last })
  if (event === undefined) return { type: 'none', dueAt, looked: Math.max(from, last) }
  // An event must be durable first, because a receiver cannot forget it after a power loss.
  await store.settled()
  return { type: 'event', event, body: bodyOf(event) }
}

async function firstAfter(
  db: Queries,
  filter: EventFilter,
  { from, last }: { from: number; last: number },
): Promise<EventRow | undefined> {
  for (let at = from; at < last; at = reachAfter(filter, at, last)) {
    const [event] = await eventsAfter(db, filter, at, 1)
    if (event !== undefined) return event
    // Other requests run between two reads of a long log.
    await setImmediate()
  }
  return undefined
}

async function firstRetry(
  db: Queries,
  { project_id, webhook_id }: WebhookRow,
  maxTries: number | null,
): Promise<DeliveryRow | undefined> {
  let query = db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('project_id', '=', project_id)
    .where('webhook_id', '=', webhook_id)
    .where('state', '=', 'retrying')
  if (maxTries !== null) query = query.where('tries', '<=', maxTries)
  return query.orderBy('next_attempt_at').orderBy('seq').limit(1).executeTakeFirst()
}

/**
 * Returns the body of a message (Standard Webhooks 1.0, "Payload structure"): the type, the time,
 * and the event in the API's form.
 */
function bodyOf(row: EventRow): string {
  const event = presentEvent(row)
  return JSON.stringify({ type: event.type, timestamp: event.at, data: event })
}
