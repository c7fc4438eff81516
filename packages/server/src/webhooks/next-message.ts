import { setImmediate } from 'node:timers/promises'
import { typesMatching } from '@holt/protocol'
import { type EventFilter, eventsAfter, logPosition, presentEvent, reachAfter } from '../events/read-events.ts'
import type { Service } from '../service.ts'
import type { DeliveryRow, EventRow, WebhookRow } from '../store/event-tables.ts'
import type { Queries } from '../store/open-store.ts'
import { holdingTries } from './retry-schedule.ts'
import { storedTypes } from './webhook-rows.ts'

/** What is to be sent: a delivery again, or an event for the first time. */
export type NextMessage =
  | { readonly type: 'again'; readonly delivery: DeliveryRow }
  | { readonly type: 'event'; readonly event: EventRow; readonly body: string }
  /**
   * Nothing yet. `dueAt` is when a delivery is tried again, `looked` how far the log has been
   * looked at.
   */
  | { readonly type: 'none'; readonly dueAt: number | null; readonly looked: number }
  /**
   * Nothing until the webhook is changed, but for what is tried again: nobody can say which events
   * it asks for.
   */
  | { readonly type: 'damaged'; readonly dueAt: number | null }

/**
 * Chooses what a webhook sends next: what is due to be tried again, else the next event of the log.
 * A delivery that has failed a few times only holds up those behind it, so that a receiver that
 * starts again gets everything in order; one that goes on failing does not.
 */
export async function nextMessage(service: Service, row: WebhookRow, looked: number): Promise<NextMessage> {
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
  const filter = { projectId: row.project_id, types: types.length === 0 ? undefined : typesMatching(types) }
  const event = await firstAfter(store.db, filter, { from, last })
  if (event === undefined) return { type: 'none', dueAt, looked: Math.max(from, last) }
  // What somebody outside has heard of is not taken back by a power cut.
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
    // Others have their turn between two looks at a long log.
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
 * Standard Webhooks 1.0, "Payload structure": the type, the time, and the event as the API has it.
 */
function bodyOf(row: EventRow): string {
  const event = presentEvent(row)
  return JSON.stringify({ type: event.type, timestamp: event.at, data: event })
}
