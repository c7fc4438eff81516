import type { WebhookRow } from '../../foundation/store/event-tables.ts'
import type { Tenancy } from '../tenancy.ts'
import { DeliverySlots } from './delivery-slots.ts'
import type { DialWebhook, Outcome } from './post-message.ts'
import { type Sending, WebhookSender } from './webhook-sender.ts'

/** The senders of all active webhooks. */
export class Webhooks {
  readonly #service: () => Tenancy
  readonly #sending: Sending
  readonly #senders = new Map<string, { readonly sender: WebhookSender; readonly ended: Promise<void> }>()
  /** Aborted when another host of the fleet has to send. */
  #resigned = new AbortController()

  constructor(service: () => Tenancy, dial: DialWebhook) {
    this.#service = service
    this.#sending = { dial, slots: new DeliverySlots() }
  }

  /**
   * Begins to send for every active webhook, or wakes its sender. Each continues at the cursor in
   * its row. Ends all senders if another host of the fleet has to send.
   */
  async start(): Promise<void> {
    if (!this.#service().duties.holds('webhooks')) {
      this.#resigned.abort()
      return
    }
    if (this.#resigned.signal.aborted) this.#resigned = new AbortController()
    const rows = await this.#service()
      .store.db.selectFrom('webhooks')
      .select(['webhook_id', 'project_id'])
      .where('state', '=', 'active')
      .execute()
    for (const row of rows) this.changed(row)
  }

  /**
   * Wakes or begins the sender of a webhook that was made or changed, or that has something to
   * send. Another host of the fleet sees it within seconds, if it has to send.
   */
  changed(row: Pick<WebhookRow, 'webhook_id' | 'project_id'>): void {
    const known = this.#senders.get(row.webhook_id)
    if (known !== undefined) known.sender.wake()
    else if (this.#maySend()) this.#begin(row)
  }

  /** Sends a message outside of the log once. */
  async sendOnce(row: WebhookRow, message: { id: string; body: string }, signal: AbortSignal): Promise<Outcome> {
    return new WebhookSender(this.#service(), this.#sending, row.webhook_id).sendOnce(row, message, signal)
  }

  /** Resolves when nothing is sent any more. The service's `closing` ends the senders. */
  async closed(): Promise<void> {
    await Promise.all([...this.#senders.values()].map(({ ended }) => ended))
  }

  #maySend(): boolean {
    const { closing, duties } = this.#service()
    return !closing.aborted && !this.#resigned.signal.aborted && duties.holds('webhooks')
  }

  #begin({ webhook_id, project_id }: Pick<WebhookRow, 'webhook_id' | 'project_id'>): void {
    const service = this.#service()
    const sender = new WebhookSender(service, this.#sending, webhook_id)
    const ended = sender.run(project_id, AbortSignal.any([service.closing, this.#resigned.signal])).then(async () => {
      this.#senders.delete(webhook_id)
      await this.#beginAgain({ webhook_id, project_id })
    })
    this.#senders.set(webhook_id, { sender, ended })
  }

  /** Begins again if the webhook became active just after its sender had seen it disabled. */
  async #beginAgain(row: Pick<WebhookRow, 'webhook_id' | 'project_id'>): Promise<void> {
    const { store } = this.#service()
    if (!this.#maySend()) return
    const active = await store.db
      .selectFrom('webhooks')
      .select('webhook_id')
      .where('project_id', '=', row.project_id)
      .where('webhook_id', '=', row.webhook_id)
      .where('state', '=', 'active')
      .executeTakeFirst()
      .catch(() => undefined) // The next change or start begins it.
    if (active !== undefined) this.changed(row)
  }
}
