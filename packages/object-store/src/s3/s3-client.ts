import { createHash } from 'node:crypto'
import { Agent, type IncomingHttpHeaders } from 'node:http'
import { Agent as TlsAgent } from 'node:https'
import { AwsV4Signer } from 'aws4fetch'
import type { CredentialsSource } from './credentials.ts'
import { type Answer, bytesOf, exchange, type SignedRequest } from './exchange.ts'
import { failureOf } from './failures.ts'
import type { S3Location } from './location.ts'
import { type RetryPolicy, withRetries } from './retries.ts'

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** The key below the prefix of the store; null for the bucket. */
  readonly key: string | null
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** The SHA-256 of the body in hex, if the caller knows it. */
  readonly bodySha256?: string
  readonly signal: AbortSignal | undefined
}

/** An answer with its whole body. */
interface WholeAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface S3ClientOptions {
  readonly location: S3Location
  readonly credentials: CredentialsSource
  readonly silenceMs: number
  readonly retries: RetryPolicy
  /** The time in milliseconds since the epoch. */
  readonly now: () => number
}

/** The longest answer that is read as text. A page of a list has some 400 KiB. */
const longestText = 4 * 2 ** 20

/** Signs, sends and repeats requests. */
export class S3Client {
  readonly location: S3Location
  readonly retries: RetryPolicy
  readonly #options: S3ClientOptions
  readonly #agent: Agent
  /** Keys that are derived from a secret key and a day. */
  readonly #signingKeys = new Map<string, ArrayBuffer>()
  /** The clock of the store, minus the one of this machine. */
  #clockAheadMs = 0

  constructor(options: S3ClientOptions) {
    this.location = options.location
    this.retries = options.retries
    this.#options = options
    // A connection that was idle for long may have been dropped by something on the way.
    const connections = { keepAlive: true, maxSockets: 64, maxFreeSockets: 8, timeout: 15_000 }
    this.#agent = options.location.endpoint.startsWith('https:') ? new TlsAgent(connections) : new Agent(connections)
  }

  /** Sends a request until it succeeds or retries end, and returns the whole answer. */
  call(request: S3Request): Promise<WholeAnswer> {
    return withRetries(() => this.callOnce(request), { policy: this.retries, signal: request.signal })
  }

  /** Sends a request once, and returns the whole answer. Fails for an answer that is no success. */
  async callOnce(request: S3Request): Promise<WholeAnswer> {
    const answer = await this.open(request)
    return { status: answer.status, headers: answer.headers, text: await this.#textOf(answer, request.signal) }
  }

  /**
   * Sends a request once, and returns the answer unread. Fails for an answer that is no success.
   */
  async open(request: S3Request): Promise<Answer> {
    const signed = await this.#sign(request)
    const { silenceMs } = this.#options
    const answer = await exchange(signed, { agent: this.#agent, silenceMs, signal: request.signal })
    if (answer.status >= 200 && answer.status < 300) return answer
    const text = await this.#textOf(answer, request.signal)
    this.#learnClock(text, answer.headers)
    const what = request.key ?? `bucket ${this.location.bucket}`
    throw failureOf(what, { status: answer.status, headers: answer.headers, text })
  }

  /** Returns the bytes of an answer at the pace of their reader. */
  bytesOf(answer: Answer, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
    return bytesOf(answer, { silenceMs: this.#options.silenceMs, signal })
  }

  /** Closes the connections that are idle. */
  closeIdle(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
  }

  async #sign(request: S3Request): Promise<SignedRequest> {
    const { location, credentials, now } = this.#options
    const { method, key, query = {}, headers = {}, body = null } = request
    const path = key === null ? location.bucket : `${location.bucket}/${location.prefix}${key}`
    const url = new URL(`/${path}?${new URLSearchParams(query)}`, location.endpoint)
    const sha256 =
      request.bodySha256 ??
      createHash('sha256')
        .update(body ?? '')
        .digest('hex')
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, 'x-amz-content-sha256': sha256 },
      ...(await credentials()),
      service: 's3',
      region: location.region,
      cache: this.#signingKeys,
      datetime: new Date(now() + this.#clockAheadMs).toISOString().replace(/[:-]|\.\d{3}/g, ''),
    })
    const signed = await signer.sign()
    const length: Record<string, string> =
      method === 'PUT' || method === 'POST' ? { 'content-length': `${body?.length ?? 0}` } : {}
    return { method, url, headers: { ...Object.fromEntries(signed.headers), ...length }, body }
  }

  /** Follows the clock of the store if it refuses a request for its time. */
  #learnClock(text: string, headers: IncomingHttpHeaders): void {
    if (!text.includes('<Code>RequestTimeTooSkewed</Code>') || headers.date === undefined) return
    const theirs = Date.parse(headers.date)
    if (!Number.isNaN(theirs)) this.#clockAheadMs = theirs - this.#options.now()
  }

  async #textOf(answer: Answer, signal: AbortSignal | undefined): Promise<string> {
    const pieces: Uint8Array[] = []
    let length = 0
    for await (const piece of this.bytesOf(answer, signal)) {
      length += piece.length
      if (length > longestText) break
      pieces.push(piece)
    }
    return Buffer.concat(pieces).toString()
  }
}
