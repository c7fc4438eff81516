import type { CreateWebhookInput, NewWebhook, UpdateWebhookInput, Webhook, WebhookDelivery } from '@holt/protocol'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, ChangeOptions, Transport } from './transport/transport.ts'

/** The time limit of a test, in milliseconds. The service waits 15 s for a receiver. */
const testTimeoutMs = 30_000

/** The webhooks, which receive events signed as in Standard Webhooks. */
export class Webhooks {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Makes a webhook. Events from now on are sent. Only this answer contains its secret. */
  async create(body: CreateWebhookInput, options: CallOptions = {}): Promise<NewWebhook> {
    return this.#transport.call('createWebhook', { ...options, json: body, idempotencyKey: crypto.randomUUID() })
  }

  /** Lists webhooks, newest first, without their secrets. */
  list(options: CallOptions & { readonly limit?: number } = {}): Paginated<Webhook> {
    const { limit, ...call } = options
    return paginate((cursor) => this.#transport.call('listWebhooks', { ...call, query: { limit, cursor } }))
  }

  /** Gets a webhook. */
  async get(webhookId: string, options: CallOptions = {}): Promise<Webhook> {
    return this.#transport.call('getWebhook', { ...options, params: { webhook_id: webhookId } })
  }

  /**
   * Changes a webhook. A disabled one continues with `state: 'active'` at the point where it
   * stopped.
   */
  async update(webhookId: string, change: UpdateWebhookInput, options: ChangeOptions = {}): Promise<Webhook> {
    return this.#transport.call('updateWebhook', { ...options, params: { webhook_id: webhookId }, json: change })
  }

  /** Deletes a webhook and the records of its deliveries. */
  async delete(webhookId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('deleteWebhook', { ...options, params: { webhook_id: webhookId } })
  }

  /**
   * Gives a webhook a new secret. Messages are signed with both for `overlap_secs`, default a day.
   */
  async rotateSecret(
    webhookId: string,
    options: CallOptions & { readonly overlap_secs?: number } = {},
  ): Promise<NewWebhook> {
    const { overlap_secs, ...call } = options
    const params = { webhook_id: webhookId }
    const idempotencyKey = crypto.randomUUID()
    return this.#transport.call('rotateWebhookSecret', { ...call, params, json: { overlap_secs }, idempotencyKey })
  }

  /** Sends a message of the type `webhook.test` once, and returns the outcome. */
  async test(webhookId: string, options: CallOptions = {}): Promise<WebhookDelivery> {
    const params = { webhook_id: webhookId }
    return this.#transport.call('testWebhook', { ...options, params, timeoutMs: testTimeoutMs })
  }

  /** Lists deliveries, newest first. */
  deliveries(
    webhookId: string,
    options: CallOptions & { readonly limit?: number; readonly state?: WebhookDelivery['state'] } = {},
  ): Paginated<WebhookDelivery> {
    const { limit, state, ...call } = options
    const params = { webhook_id: webhookId }
    return paginate((cursor) =>
      this.#transport.call('listDeliveries', { ...call, params, query: { limit, state, cursor } }),
    )
  }

  /** Sends an event again, under the same `webhook-id`. */
  async redeliver(webhookId: string, deliveryId: string, options: CallOptions = {}): Promise<WebhookDelivery> {
    const params = { webhook_id: webhookId, delivery_id: deliveryId }
    return this.#transport.call('redeliver', { ...options, params, idempotencyKey: crypto.randomUUID() })
  }
}
