import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import { until } from '../../e2e/support/until.ts'

/** The timeout for messages, in milliseconds. A failed message is retried within it. */
const arriveMs = 120_000

/** A receiver of the messages of one webhook. It outlives the daemons that send them. */
export class WebhookReceiver implements AsyncDisposable {
  readonly #server: Server
  /** The ids of the received events, each once, in the order of arrival. */
  readonly #came = new Set<string>()

  private constructor() {
    this.#server = createServer(async (request, response) => {
      this.#came.add(String(request.headers['webhook-id']))
      await text(request)
      response.writeHead(204).end()
    })
  }

  /** Starts a receiver at an address of this machine. */
  static async listen(address: string): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver()
    await new Promise<void>((resolve) => receiver.#server.listen(0, address, resolve))
    return receiver
  }

  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo
    return `http://${address}:${port}`
  }

  /** Waits until these events were received, and expects that they first came in this order. */
  async has(events: readonly { readonly event_id: string }[]): Promise<void> {
    const ids = events.map(({ event_id }) => event_id)
    await until('all events have come', async () => ids.every((id) => this.#came.has(id)), arriveMs)
    expect([...this.#came].slice(0, ids.length), 'events in the order of first deliveries').toEqual(ids)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
