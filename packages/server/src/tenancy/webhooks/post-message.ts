import { Agent, type IncomingMessage, request } from 'node:http'
import type { Duplex } from 'node:stream'
import { DialError } from '@holt/egress'

/**
 * Opens a connection under the egress rules. Without TLS, only networks that the operator allows
 * are reached.
 */
export type DialWebhook = (target: { host: string; port: number; tls: boolean }, signal: AbortSignal) => Promise<Duplex>

/**
 * The time limit of a receiver for connection, request and answer, in milliseconds. Standard
 * Webhooks asks for 15 to 30 seconds.
 */
const usualTimeoutMs = 15_000

/** The time after which an idle connection is closed, in milliseconds. */
const idleMs = 10_000

/**
 * The number of bytes of an answer that are kept, and the number that are read. Reading the whole
 * answer allows the reuse of its connection.
 */
const keptBytes = 1024
const readBytes = 64 * 1024

/** The outcome of one attempt. */
export interface Outcome {
  /** The status, or null if there was no answer. */
  readonly status: number | null
  readonly durationMs: number
  readonly error: string | null
  readonly response: string
  /** The delay that the receiver asked for, in milliseconds. */
  readonly retryAfterMs: number | null
}

/** Sends messages to one address, over one connection while it lasts. */
export class Receiver {
  readonly #url: URL
  readonly #agent: Agent
  readonly #timeoutMs: number

  /** `timeoutMs` is the time limit of a message, from the connection to the end of the answer. */
  constructor(dial: DialWebhook, address: string, timeoutMs: number = usualTimeoutMs) {
    this.#timeoutMs = timeoutMs
    const url = new URL(address)
    this.#url = url
    const tls = url.protocol === 'https:'
    const target = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) || (tls ? 443 : 80), tls }
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, timeout: idleMs })
    // `dial` makes the TLS connection. This is HTTP over its result.
    this.#agent.createConnection = (_options, callback) => {
      dial(target, AbortSignal.timeout(timeoutMs)).then(
        (socket) => callback?.(null, socket),
        (error: Error) => callback?.(error, undefined as unknown as Duplex),
      )
      return undefined
    }
  }

  /** Sends a message. Every failure is an outcome. Rejects only if `signal` is aborted. */
  async post(body: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Outcome> {
    const since = performance.now()
    const limit = AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)])
    const answered = { status: null, error: null, response: '', retryAfterMs: null }
    const outcome = await this.#send(body, headers, limit).catch((error: unknown) => {
      signal.throwIfAborted()
      return {
        ...answered,
        error: limit.aborted ? `no answer within ${this.#timeoutMs / 1000} seconds` : reasonOf(error),
      }
    })
    return { ...outcome, durationMs: Math.round(performance.now() - since) }
  }

  /** Closes the connection. */
  close(): void {
    this.#agent.destroy()
  }

  async #send(
    body: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Omit<Outcome, 'durationMs'>> {
    const answer = await this.#answerTo(body, headers, signal)
    const response = await firstText(answer)
    const status = answer.statusCode ?? 0
    const error = status >= 300 && status < 400 ? 'redirects are not followed' : null
    return { status, error, response, retryAfterMs: retryAfterOf(answer.headers['retry-after']) }
  }

  async #answerTo(
    body: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    for (;;) {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
      const sent = request({
        agent: this.#agent,
        host: this.#url.hostname,
        method: 'POST',
        path: `${this.#url.pathname}${this.#url.search}`,
        headers: {
          ...headers,
          host: this.#url.host,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'Holt-Webhooks/1',
        },
        maxHeaderSize: 16 * 1024,
        signal,
      })
      sent.once('response', resolve).on('error', reject)
      sent.once('upgrade', (_, socket) => {
        socket.destroy()
        reject(new Unanswered('it wanted to switch protocols'))
      })
      // Any other end of a request without an answer.
      sent.once('close', () => reject(new Unanswered('the connection was closed')))
      sent.end(body)
      try {
        return await promise
      } catch (error) {
        // The peer had closed a kept connection before the message was sent.
        const stale = sent.reusedSocket && ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')
        if (!stale || signal.aborted) throw error
      }
    }
  }
}

/** An error in fixed words: the request ended without an answer. */
class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

/** Returns the beginning of an answer. The status counts even if the answer breaks off. */
async function firstText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of answer) {
      if (size < keptBytes) chunks.push(chunk as Buffer)
      size += (chunk as Buffer).length
      if (size > readBytes) break
    }
  } catch {
    // The bytes that arrived earlier are kept.
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, keptBytes)).replaceAll('\0', '')
}

/** Returns the delay of a `Retry-After` header, which has seconds or a date (RFC 9110, 10.2.3). */
function retryAfterOf(header: string | undefined): number | null {
  if (header === undefined) return null
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}

const dialReasons: Readonly<Record<string, string>> = {
  non_public: 'the address is not public, and the operator has not allowed its network',
  bad_request: 'this is not a host',
  name_not_found: 'the name does not exist',
  resolver_failed: 'the name could not be resolved',
  upstream_refused: 'the connection was refused',
  upstream_timeout: 'the connection took too long',
}

/** Returns the reason of a failure in fixed words. The error's own message may name addresses. */
function reasonOf(error: unknown): string {
  if (error instanceof DialError) return dialReasons[error.reason] ?? 'the host could not be reached'
  if (error instanceof Unanswered) return error.message
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[A-Za-z0-9_]{1,64}$/.test(code)
    ? `the connection failed (${code})`
    : 'the connection failed'
}
