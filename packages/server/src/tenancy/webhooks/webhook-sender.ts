import { Notification } from '../../foundation/async/notification.ts'
import { pause } from '../../foundation/async/pause.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { WebhookRow } from '../../foundation/store/event-tables.ts'
import type { Tenancy } from '../tenancy.ts'
import type { DeliverySlot, DeliverySlots } from './delivery-slots.ts'
import { type NextMessage, nextMessage } from './next-message.ts'
import { isTaken, noteOutcome, type Tried } from './note-outcome.ts'
import { type DialWebhook, type Outcome, Receiver } from './post-message.ts'
import { signedHeaders } from './sign-message.ts'
import { signingSecrets } from './webhook-secrets.ts'

/**
 * The intervals of clock checks with and without a retry, in milliseconds. The clock may be set
 * meanwhile.
 */
const lookMs = { retrying: 1000, idle: 30_000 }

/** The pause after a failure of the database, in milliseconds. */
const failureMs = 2000

/** The number of log entries examined without a match before the cursor is stored. */
const cursorStep = 1000

/** The parts that all senders share. */
export interface Sending {
  readonly dial: DialWebhook
  readonly slots: DeliverySlots
}

/**
 * Sends the messages of one webhook, one after another. Each webhook has its own sender, so a slow
 * receiver delays no other webhook. All senders share a limit on concurrent messages.
 */
export class WebhookSender {
  readonly #service: Tenancy
  readonly #sending: Sending
  readonly #webhookId: string
  readonly #notification = new Notification()
  #receiver: { readonly url: string; readonly receiver: Receiver } | null = null
  #looked = 0
  #typesText = ''
  #toldDamage: string | null = null

  constructor(service: Tenancy, sending: Sending, webhookId: string) {
    this.#service = service
    this.#sending = sending
    this.#webhookId = webhookId
  }

  /** Wakes the sender: there may be a message, or the webhook has changed. */
  wake(): void {
    this.#notification.notify()
  }

  /** Sends until the webhook is disabled or deleted, or `stop` is aborted. */
  async run(projectId: string, stop: AbortSignal): Promise<void> {
    using _watch = this.#service.eventNotifier.watch(projectId, () => this.wake())
    const leave = () => this.wake()
    stop.addEventListener('abort', leave)
    try {
      while (!stop.aborted) if (!(await this.#step(stop))) return
    } finally {
      stop.removeEventListener('abort', leave)
      this.#receiver?.receiver.close()
    }
  }

  /** Sends a message outside of the log once. */
  async sendOnce(row: WebhookRow, message: { id: string; body: string }, stop: AbortSignal): Promise<Outcome> {
    using _slot = await this.#slotFor(row, stop)
    const receiver = new Receiver(this.#sending.dial, row.url)
    try {
      return await this.#post(receiver, row, message, stop)
    } finally {
      receiver.close()
    }
  }

  /** Sends or waits once. Returns false if the sender has to end. */
  async #step(stop: AbortSignal): Promise<boolean> {
    const { store, log, now } = this.#service
    try {
      const row = await store.db
        .selectFrom('webhooks')
        .selectAll()
        .where('webhook_id', '=', this.#webhookId)
        .executeTakeFirst()
      if (row === undefined || row.state !== 'active') return false
      // With other types, the log is examined again from the last sent event.
      if (row.types_json !== this.#typesText) this.#looked = 0
      this.#typesText = row.types_json
      const next = await nextMessage(this.#service, row, this.#looked)
      if (next.type === 'again' || next.type === 'event') {
        using slot = await this.#slotFor(row, stop)
        // The webhook may have been changed during the wait, so it is read again.
        if (!slot.hasWaited || (await this.#isStill(row))) await this.#try(row, next, stop)
        return true
      }
      if (next.type === 'damaged') this.#tellDamage(row)
      else {
        this.#looked = next.looked
        if (next.looked - Number(row.cursor) >= cursorStep) await this.#keepCursor(row)
      }
      const dueMs = next.dueAt === null ? lookMs.idle : Math.min(lookMs.retrying, next.dueAt - now())
      await this.#notification.wait(Math.max(0, dueMs))
      return true
    } catch (error) {
      if (stop.aborted) return false
      log.warn({ err: error, webhook_id: this.#webhookId }, 'a webhook could not be processed')
      await pause(failureMs, stop)
      return true
    }
  }

  #slotFor({ project_id: projectId, url }: WebhookRow, stop: AbortSignal): Promise<DeliverySlot> {
    return this.#sending.slots.enter({ projectId, host: new URL(url).host }, stop)
  }

  async #isStill({ project_id, webhook_id, revision }: WebhookRow): Promise<boolean> {
    const found = await this.#service.store.db
      .selectFrom('webhooks')
      .select('revision')
      .where('project_id', '=', project_id)
      .where('webhook_id', '=', webhook_id)
      .executeTakeFirst()
    return found?.revision === revision
  }

  /** Logs damaged types, once for each damage. */
  #tellDamage({ types_json, webhook_id }: WebhookRow): void {
    if (this.#toldDamage === types_json) return
    this.#toldDamage = types_json
    this.#service.log.warn(
      { webhook_id },
      'the types of a webhook are damaged: it sends no new events until they are set again',
    )
  }

  async #try(
    row: WebhookRow,
    next: Extract<NextMessage, { type: 'again' | 'event' }>,
    stop: AbortSignal,
  ): Promise<void> {
    const delivery = next.type === 'again' ? next.delivery : null
    const event = next.type === 'event' ? next.event : null
    const body = next.type === 'again' ? next.delivery.body : next.body
    const id = next.type === 'again' ? next.delivery.event_id : next.event.event_id
    const at = this.#service.now()
    const outcome = await this.#post(this.#receiverOf(row), row, { id, body }, stop)
    const tried: Tried = { delivery, event, body, at, outcome }
    await noteOutcome(this.#service, row, tried)
  }

  async #post(
    receiver: Receiver,
    row: WebhookRow,
    { id, body }: { id: string; body: string },
    stop: AbortSignal,
  ): Promise<Outcome> {
    const secrets = await signingSecrets(this.#service, row)
    const outcome = await receiver.post(body, signedHeaders({ id, at: this.#service.now(), body }, secrets), stop)
    const result = isTaken(outcome) ? 'delivered' : outcome.status === null ? 'unanswered' : 'refused'
    this.#service.metrics.webhooks.noteAttempt({ result, seconds: outcome.durationMs / 1000 })
    return outcome
  }

  #receiverOf({ url }: WebhookRow): Receiver {
    if (this.#receiver?.url !== url) {
      this.#receiver?.receiver.close()
      this.#receiver = { url, receiver: new Receiver(this.#sending.dial, url) }
    }
    return this.#receiver.receiver
  }

  async #keepCursor(row: WebhookRow): Promise<void> {
    await this.#service.store.change(
      aloneWithRow,
      (changes) =>
        changes
          .updateTable('webhooks')
          .set({ cursor: this.#looked })
          .where('project_id', '=', row.project_id)
          .where('webhook_id', '=', row.webhook_id)
          .where('cursor', '=', row.cursor)
          .where('types_json', '=', row.types_json)
          .execute(),
      { durable: 'later' },
    )
  }
}
