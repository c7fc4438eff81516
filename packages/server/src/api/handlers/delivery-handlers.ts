import { HoltError, isIdParam, makeId } from '@holt/protocol'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { DeliveryRow } from '../../foundation/store/event-tables.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { pageOfRows, seqBefore } from '../../foundation/store/page-cursor.ts'
import { readOneByOne } from '../../foundation/store/read-one-by-one.ts'
import { type Answer, answerPage, type Call } from '../../foundation/wire/call.ts'
import { isTaken } from '../../tenancy/webhooks/note-outcome.ts'
import { findWebhook, presentDelivery, retryingOf, type WebhookRef } from '../../tenancy/webhooks/webhook-rows.ts'
import type { Api, Handlers } from '../api.ts'

/** The maximum number of waiting deliveries of a webhook at which one more is accepted. */
const maxWaiting = 1000

/** The routes of a webhook's deliveries. */
export const deliveryHandlers = { testWebhook, listDeliveries, redeliver } satisfies Partial<Handlers>

/** Sends a test message once, also to a disabled webhook, and returns the result. */
async function testWebhook({ service, caller, params, gone, newId }: Call<'testWebhook', Api>): Promise<Answer> {
  const row = await findWebhook(service.store.db, { projectId: caller.projectId, webhookId: params.webhook_id })
  const deliveryId = newId('delivery')
  const webhook = { projectId: caller.projectId, webhookId: row.webhook_id }
  const made = await deliveryRow(service.store.db, webhook, deliveryId)
  if (made !== undefined) return { status: 200, json: presentDelivery(made) }
  const at = service.now()
  const id = makeId('event')
  const type = 'webhook.test'
  const body = JSON.stringify({ type, timestamp: moment(at), data: { webhook_id: row.webhook_id } })
  const outcome = await service.webhooks.sendOnce(row, { id, body }, gone)
  const { status, error, response, durationMs: duration_ms } = outcome
  const delivery = {
    delivery_id: deliveryId,
    webhook_id: row.webhook_id,
    project_id: row.project_id,
    event_id: id,
    event_cursor: null,
    type,
    body,
    state: isTaken(outcome) ? 'delivered' : 'failed',
    redelivery_of: null,
    tries: 1,
    attempts_json: JSON.stringify([{ at, status, duration_ms, error, response }]),
    next_attempt_at: null,
    created_at: at,
    ended_at: at + duration_ms,
  } as const
  const stored = await service.store.change(aloneWith(caller.projectId), async (changes) => {
    await findWebhook(changes, { projectId: caller.projectId, webhookId: row.webhook_id })
    return insertOnce(changes, delivery)
  })
  return { status: 200, json: presentDelivery(stored) }
}

async function listDeliveries({ service, caller, params, query, gone }: Call<'listDeliveries', Api>): Promise<Answer> {
  const { db } = service.store
  const { webhook_id } = await findWebhook(db, { projectId: caller.projectId, webhookId: params.webhook_id })
  let rows = db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('project_id', '=', caller.projectId)
    .where('webhook_id', '=', webhook_id)
    .where('seq', '<', seqBefore(query.cursor))
  if (query.state !== undefined) rows = rows.where('state', '=', query.state)
  const page = rows.orderBy('seq', 'desc').limit(query.limit + 1)
  const found = await readOneByOne(service, { projectId: caller.projectId, gone }, () => page.execute())
  return answerPage(pageOfRows(found, query.limit, { present: presentDelivery, log: service.log }))
}

async function redeliver({ service, caller, params, newId }: Call<'redeliver', Api>): Promise<Answer> {
  const at = service.now()
  const deliveryId = newId('delivery')
  const { row, delivery } = await service.store.change(aloneWith(caller.projectId), async (changes) => {
    const { projectId } = caller
    const row = await findWebhook(changes, { projectId, webhookId: params.webhook_id })
    const webhook = { projectId, webhookId: row.webhook_id }
    const made = await deliveryRow(changes, webhook, deliveryId)
    if (made !== undefined) return { row, delivery: made }
    const earlier = await findDelivery(changes, webhook, params.delivery_id)
    if (row.state !== 'active')
      throw new HoltError('conflict', 'The webhook is disabled.', {
        hint: 'First set the state of the webhook to active.',
      })
    const waiting = await retryingOf(changes, { projectId, webhookIds: [row.webhook_id] })
    if ((waiting.get(row.webhook_id) ?? 0) >= maxWaiting)
      throw limitReached('quota_exceeded', `A webhook has at most ${maxWaiting} waiting deliveries.`, {
        limit: maxWaiting,
      })
    const { seq: _, ...same } = earlier
    const again = {
      ...same,
      delivery_id: deliveryId,
      state: 'retrying',
      redelivery_of: earlier.delivery_id,
      tries: 0,
      attempts_json: '[]',
      next_attempt_at: at,
      created_at: at,
      ended_at: null,
    } as const
    return { row, delivery: await insertOnce(changes, again) }
  })
  service.webhooks.changed(row)
  return { status: 202, json: presentDelivery(delivery) }
}

async function findDelivery(changes: Queries, webhook: WebhookRef, deliveryId: string): Promise<DeliveryRow> {
  const row = isIdParam('delivery_id', deliveryId) ? await deliveryRow(changes, webhook, deliveryId) : undefined
  if (row === undefined) throw idNotFound('delivery_not_found', deliveryId)
  return row
}

/**
 * Returns a delivery, if there is one. A delivery with the id of a request belongs to an earlier
 * attempt, whose answer was lost.
 */
function deliveryRow(
  db: Queries,
  { projectId, webhookId }: WebhookRef,
  deliveryId: string,
): Promise<DeliveryRow | undefined> {
  return db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('webhook_id', '=', webhookId)
    .where('delivery_id', '=', deliveryId)
    .executeTakeFirst()
}

/**
 * Inserts a delivery, or returns the existing one. The same id is a repeated request whose answer
 * was lost.
 */
async function insertOnce(changes: Queries, delivery: Omit<DeliveryRow, 'seq'>): Promise<DeliveryRow> {
  await changes
    .insertInto('webhook_deliveries')
    .values(delivery)
    .onConflict((conflict) => conflict.column('delivery_id').doNothing())
    .execute()
  return changes
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('project_id', '=', delivery.project_id)
    .where('webhook_id', '=', delivery.webhook_id)
    .where('delivery_id', '=', delivery.delivery_id)
    .executeTakeFirstOrThrow()
}
