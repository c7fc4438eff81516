import type { IncomingHttpHeaders } from 'node:http'
import { requireRange } from '../contract/keys.ts'
import type { ByteRange, GetOptions, OpenObject } from '../contract/object-store.ts'
import { ObjectStoreError } from '../contract/object-store-error.ts'
import type { Answer } from './exchange.ts'
import { isKind } from './own-writes.ts'
import { isPassing, pauseAfter, pauseFor, withRetries } from './retries.ts'
import type { S3Client } from './s3-client.ts'
import { verifierOf } from './verify-checksum.ts'

/** The time after which an answer that nobody reads is closed. A later reader opens it again. */
const unreadMs = 60_000

/** A connection that brought so many bytes was worth it: attempts count from the beginning. */
const progressBytes = 2 ** 20

/** Opens an object or a range of it. */
export async function getObject(client: S3Client, key: string, { range, signal }: GetOptions): Promise<OpenObject> {
  if (range !== undefined && range.start >= range.end) return emptyRange(client, key, { range, signal })
  const answer = await withRetries(() => openAt(client, { key, range, signal }), { policy: client.retries, signal })
  const sizeBytes = sizeOf(key, answer, range)
  const whole = range ?? { start: 0, end: sizeBytes }
  return {
    sizeBytes,
    body: new ContinuedBody({ client, key, range: whole, isWhole: range === undefined, signal }, answer),
  }
}

interface Asked {
  readonly key: string
  readonly range: ByteRange | undefined
  readonly signal: AbortSignal | undefined
  /** The version that has to be there still. */
  readonly etag?: string
}

function openAt(client: S3Client, { key, range, signal, etag }: Asked): Promise<Answer> {
  const headers = {
    'x-amz-checksum-mode': 'ENABLED',
    ...(range === undefined ? {} : { range: `bytes=${range.start}-${range.end - 1}` }),
    ...(etag === undefined ? {} : { 'if-match': etag }),
  }
  return client.open({ method: 'GET', key, headers, signal })
}

/**
 * Returns the size of the whole object. Fails if the answer has other bytes than those asked for.
 */
function sizeOf(key: string, { status, headers, body }: Answer, range: ByteRange | undefined): number {
  const [, start, end, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? []
  try {
    if (range === undefined && status === 200) return Number(headers['content-length'])
    if (range === undefined || status !== 206 || size === undefined)
      throw new ObjectStoreError('refused', `${key}: the store ignores ranges`)
    requireRange(key, range, Number(size))
    if (Number(start) !== range.start || Number(end) + 1 !== range.end)
      throw new ObjectStoreError('damaged', `${key}: the store sends the bytes ${start} to ${end}`)
    return Number(size)
  } catch (error) {
    body.destroy()
    throw error
  }
}

async function emptyRange(
  client: S3Client,
  key: string,
  { range, signal }: { readonly range: ByteRange; readonly signal: AbortSignal | undefined },
): Promise<OpenObject> {
  const { headers } = await client.call({ method: 'HEAD', key, signal })
  const sizeBytes = Number(headers['content-length'])
  requireRange(key, range, sizeBytes)
  return { sizeBytes, body: (async function* () {})() }
}

interface Wanted {
  readonly client: S3Client
  readonly key: string
  readonly range: ByteRange
  /** True if the range is the whole object, whose checksum can be verified. */
  readonly isWhole: boolean
  readonly signal: AbortSignal | undefined
}

/** The bytes of an object. A connection that breaks is opened again at the next byte. */
class ContinuedBody implements AsyncIterable<Uint8Array> {
  readonly #wanted: Wanted
  readonly #headers: IncomingHttpHeaders
  #answer: Answer | null
  readonly #unread: NodeJS.Timeout

  constructor(wanted: Wanted, answer: Answer) {
    this.#wanted = wanted
    this.#headers = answer.headers
    this.#answer = answer
    this.#unread = setTimeout(() => answer.body.destroy(), unreadMs).unref()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    clearTimeout(this.#unread)
    const { client, range, isWhole, signal } = this.#wanted
    const verifier = isWhole ? verifierOf(this.#headers) : null
    let at = range.start
    for (let attempt = 1; at < range.end; attempt += 1) {
      const from = at
      try {
        for await (const piece of this.#connect(at)) {
          verifier?.add(piece)
          at += piece.length
          yield piece
        }
        if (at < range.end) throw new ObjectStoreError('unavailable', `${this.#wanted.key}: the connection ended early`)
      } catch (error) {
        signal?.throwIfAborted()
        if (at - from >= progressBytes) attempt = 1
        if (!isPassing(error) || error.kind === 'damaged' || attempt >= client.retries.attempts) throw error
        await pauseFor(pauseAfter(attempt, client.retries, error.retryAfterMs), signal)
      }
    }
    if (at > range.end || verifier?.matches() === false)
      throw new ObjectStoreError('damaged', `${this.#wanted.key}: the bytes are not those that were written`)
  }

  /** Returns the bytes from a position on. The first time they are those of the first answer. */
  async *#connect(at: number): AsyncGenerator<Uint8Array, void> {
    const { client, key, range, signal } = this.#wanted
    const etag = this.#headers.etag
    const first = this.#answer
    this.#answer = null
    if (first !== null && !first.body.destroyed) return yield* client.bytesOf(first, signal)
    const rest = { start: at, end: range.end }
    try {
      const answer = await openAt(client, { key, range: rest, signal, ...(etag === undefined ? {} : { etag }) })
      sizeOf(key, answer, rest)
      yield* client.bytesOf(answer, signal)
    } catch (error) {
      if (!isKind(error, 'precondition_failed')) throw error
      throw new ObjectStoreError('damaged', `${key} was replaced while it was read`, { cause: error })
    }
  }
}
