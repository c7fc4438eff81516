import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { ConnectError } from '../errors/connect-error.ts'
import { endEnvelope, messageEnvelope } from './envelopes.ts'

/** The media type of streams. */
export const streamType = 'application/connect+json'

/** Writes the envelopes of an answer, each at once. */
export class StreamWriter {
  readonly #response: ServerResponse
  #keepalive: NodeJS.Timeout | null = null

  constructor(response: ServerResponse) {
    this.#response = response
    response.once('close', () => this.#stop())
  }

  /** Writes a message when no other was for a while, from the first other message on. */
  keepAlive(message: object, everyMs: number): void {
    const response = this.#response
    this.#keepalive = setTimeout(() => {
      if (response.headersSent && !response.writableNeedDrain && !response.writableEnded)
        response.write(messageEnvelope(message))
      this.#keepalive?.refresh()
    }, everyMs)
  }

  /** Writes a message. Resolves when the client has room for the next one, or has left. */
  async write(message: object): Promise<void> {
    if (this.#response.destroyed || this.#response.writableEnded) return
    this.#head()
    this.#keepalive?.refresh()
    if (this.#response.write(messageEnvelope(message)) || this.#response.destroyed) return
    const over = new AbortController()
    const { signal } = over
    try {
      await Promise.race([once(this.#response, 'drain', { signal }), once(this.#response, 'close', { signal })])
    } catch {
      // An error of the connection closes it, which ends the stream elsewhere.
    } finally {
      over.abort()
    }
  }

  /** Writes the last envelope. */
  end(error?: ConnectError): void {
    this.#stop()
    if (this.#response.destroyed || this.#response.writableEnded) return
    this.#head()
    this.#response.end(endEnvelope(error))
  }

  /** Ends the answer without a last envelope. The client sees a broken connection. */
  cut(): void {
    this.#stop()
    this.#response.destroy()
  }

  #head(): void {
    if (!this.#response.headersSent)
      this.#response.writeHead(200, { 'content-type': streamType, 'cache-control': 'no-store' })
  }

  #stop(): void {
    if (this.#keepalive !== null) clearTimeout(this.#keepalive)
    this.#keepalive = null
  }
}
