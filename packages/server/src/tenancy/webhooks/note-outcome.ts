import { makeId } from '@holt/protocol'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { DeliveryRow, EventRow, WebhookRow } from '../../foundation/store/event-tables.ts'
import type { Changes, Queries } from '../../foundation/store/open-store.ts'
import { storedJson } from '../../foundation/store/stored-json.ts'
import { dayMs } from '../../foundation/time/day.ts'
import { recordEvent } from '../events/record-event.ts'
import type { Tenancy } from '../tenancy.ts'
import type { Outcome } from './post-message.ts'
import { failingDays, retryDelayMs } from './retry-schedule.ts'
import { webhookRow } from './webhook-rows.ts'

/** A message after an attempt. */
export interface Tried {
  /** The earlier delivery. Null: the first attempt for an event. */
  readonly delivery: DeliveryRow | null
  readonly event: Pick<EventRow, 'event_id' | 'cursor' | 'type'> | null
  readonly body: string
  readonly at: number
  readonly outcome: Outcome
}

/**
 * Records the result of an attempt, and its effect on the webhook. Nothing is recorded if the
 * webhook was deleted meanwhile.
 */
export async function noteOutcome(service: Tenancy, row: WebhookRow, tried: Tried): Promise<void> {
  const { store } = service
  // A power loss may lose the record. The message is then sent again with the same id.
  await store.change(
    aloneWith(row.project_id),
    async (changes) => {
      const current = await webhookRow(changes, { projectId: row.project_id, webhookId: row.webhook_id })
      if (current === undefined) return
      await writeDelivery(changes, current, tried)
      await writeWebhook(changes, current, tried)
    },
    { durable: 'later' },
  )
}

async function writeDelivery(changes: Queries, row: WebhookRow, tried: Tried): Promise<void> {
  const { delivery, event, at, outcome } = tried
  const attempt = {
    at,
    status: outcome.status,
    duration_ms: outcome.durationMs,
    error: outcome.error,
    response: outcome.response,
  }
  const attempts = [...(delivery === null ? [] : attemptsOf(delivery)), attempt]
  const tries = (delivery?.tries ?? 0) + 1
  const ended = at + outcome.durationMs
  const delay = isTaken(outcome) || outcome.status === 410 ? null : retryDelayMs(tries, outcome.retryAfterMs)
  const end = {
    state: isTaken(outcome) ? 'delivered' : delay === null ? 'failed' : 'retrying',
    tries,
    attempts_json: JSON.stringify(attempts),
    next_attempt_at: delay === null ? null : ended + delay,
    ended_at: delay === null ? ended : null,
  } as const
  if (delivery !== null) {
    await changes
      .updateTable('webhook_deliveries')
      .set(end)
      .where('project_id', '=', row.project_id)
      .where('delivery_id', '=', delivery.delivery_id)
      .execute()
    return
  }
  if (event === null) return
  await changes
    .insertInto('webhook_deliveries')
    .values({
      delivery_id: makeId('delivery'),
      webhook_id: row.webhook_id,
      project_id: row.project_id,
      event_id: event.event_id,
      event_cursor: event.cursor,
      type: event.type,
      body: tried.body,
      redelivery_of: null,
      created_at: at,
      ...end,
    })
    .execute()
}

/**
 * Returns the earlier attempts. A damaged record loses them. Otherwise it would be sent forever,
 * and block the ones behind it.
 */
function attemptsOf({ attempts_json }: DeliveryRow): readonly unknown[] {
  const attempts = storedJson(attempts_json)
  return Array.isArray(attempts) ? attempts : []
}

async function writeWebhook(changes: Changes, row: WebhookRow, { event, at, outcome }: Tried): Promise<void> {
  const failingSince = isTaken(outcome) ? null : (row.failing_since ?? at)
  const reason = row.state === 'active' ? disablingReason(outcome, failingSince, at) : null
  await changes
    .updateTable('webhooks')
    .set({
      cursor: Math.max(Number(row.cursor), Number(event?.cursor ?? 0)),
      failing_since: failingSince,
      ...(reason === null ? {} : { state: 'disabled', state_reason_json: JSON.stringify(reason), updated_at: at }),
    })
    .where('project_id', '=', row.project_id)
    .where('webhook_id', '=', row.webhook_id)
    .execute()
  if (reason === null) return
  await recordEvent(changes, {
    projectId: row.project_id,
    type: 'webhook.disabled',
    subjectId: row.webhook_id,
    data: { reason },
    at,
  })
}

function disablingReason({ status }: Outcome, failingSince: number | null, at: number) {
  if (status === 410) return { code: 'gone', message: 'The receiver answered 410, so it wants no more messages.' }
  if (failingSince === null || at - failingSince < failingDays * dayMs) return null
  return { code: 'failing', message: `Nothing has arrived for ${failingDays} days.` }
}

/** Returns true if the receiver accepted the message, with any 2xx status. */
export function isTaken({ status }: Outcome): boolean {
  return status !== null && status >= 200 && status < 300
}
