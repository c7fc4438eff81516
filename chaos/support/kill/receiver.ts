import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { NewWebhook } from '@holt/protocol'
import { expect } from 'vitest'
import { success } from '../../../e2e/support/api.ts'
import type { Settings } from '../../../e2e/support/service-process.ts'
import { until } from '../../../e2e/support/until.ts'
import type { Ask } from './ask.ts'
import type { EventLog } from './event-log.ts'

const webhooksPath = '/v1/agents/webhook'

/** The timeout for messages, in milliseconds. A failed message is retried within it. */
const arriveMs = 120_000

/** The settings that allow webhooks to loopback, the address of the receiver. */
export const toLoopback: Settings = { HOLT_EGRESS_ALLOWED_NETWORKS: '127.0.0.0/8' }

/**
 * Receives all events of policies, secrets and keys over a webhook. It outlives the daemons.
 */
export class Receiver implements AsyncDisposable {
  readonly #server: Server
  readonly #ask: Ask
  /** The ids of the received events, each once, in the order of arrival. */
  readonly #came = new Set<string>()
  #webhook: { readonly path: string; readonly after: number } | null = null

  private constructor(ask: Ask) {
    this.#ask = ask
    this.#server = createServer(async (request, response) => {
      this.#came.add(String(request.headers['webhook-id']))
      await text(request)
      response.writeHead(204).end()
    })
  }

  /** Starts a receiver with a webhook for the events after those that `log` has read. */
  static async begin(ask: Ask, log: EventLog): Promise<Receiver> {
    const receiver = new Receiver(ask)
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(receiver.#server.address() as AddressInfo).port}`
    const json = { url, types: ['policy.*', 'secret.*', 'key.*'] }
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
    await until('all events have come', async () => sent.every(({ event_id }) => this.#came.has(event_id)), arriveMs)
    expect([...this.#came].slice(0, sent.length)).toEqual(sent.map(({ event_id }) => event_id))
    return sent.length
  }

  /** Removes the webhook. */
  async end(): Promise<void> {
    if (this.#webhook !== null) expect((await this.#ask('DELETE', this.#webhook.path)).status).toBe(204)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
