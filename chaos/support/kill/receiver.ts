import { NewWebhook } from '@holt/protocol'
import { expect } from 'vitest'
import { success } from '../../../e2e/support/api.ts'
import type { Settings } from '../../../e2e/support/service-process.ts'
import { WebhookReceiver } from '../webhook-receiver.ts'
import type { Ask } from './ask.ts'
import type { EventLog } from './event-log.ts'

const webhooksPath = '/v1/agents/webhook'

/** The settings that allow webhooks to loopback, the address of the receiver. */
export const toLoopback: Settings = { HOLT_EGRESS_ALLOWED_NETWORKS: '127.0.0.0/8' }

/** A webhook for all events of policies, secrets and keys, and its receiver. */
export class Receiver implements AsyncDisposable {
  readonly #messages: WebhookReceiver
  readonly #ask: Ask
  #webhook: { readonly path: string; readonly after: number } | null = null

  private constructor(messages: WebhookReceiver, ask: Ask) {
    this.#messages = messages
    this.#ask = ask
  }

  /** Starts a receiver with a webhook for the events after those that `log` has read. */
  static async begin(ask: Ask, log: EventLog): Promise<Receiver> {
    const receiver = new Receiver(await WebhookReceiver.listen('127.0.0.1'), ask)
    const json = { url: receiver.#messages.url, types: ['policy.*', 'secret.*', 'key.*'] }
    const { webhook_id } = success(await ask('POST', webhooksPath, { json }), 201, NewWebhook)
    await log.read()
    receiver.#webhook = { path: `${webhooksPath}/${webhook_id}`, after: log.events.length }
    return receiver
  }

  /**
   * Expects that every event in the log was received, and that first deliveries are in the order of
   * the log. Returns their number.
   */
  async check(log: EventLog): Promise<number> {
    const { after } = this.#webhook ?? { after: 0 }
    const sent = log.events.slice(after).filter(({ type }) => /^(policy|secret|key)\./.test(type))
    await this.#messages.has(sent)
    return sent.length
  }

  /** Removes the webhook. */
  async end(): Promise<void> {
    if (this.#webhook !== null) expect((await this.#ask('DELETE', this.#webhook.path)).status).toBe(204)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#messages[Symbol.asyncDispose]()
  }
}
