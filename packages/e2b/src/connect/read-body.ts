import type { IncomingMessage } from 'node:http'
import { WholeBytes } from '@holt/async'
import { ConnectError } from '../errors/connect-error.ts'

/** The bounds on a request's body, and the account that pays for its bytes. */
export interface BodyLimits {
  /** The largest message, in bytes. */
  readonly maxMessageBytes: number
  /** The time in which a single message must arrive, in milliseconds. */
  readonly bodyTimeoutMs: number
  /** The time without a byte after which a stream or an upload ends, in milliseconds. */
  readonly quietMs: number
  /** Counts bytes that are kept until the answer. Returns false if too many are kept already. */
  keep(bytes: number): boolean
  /** The room for the messages of a client's stream. */
  readonly room: MessageRoom
}

/** Room for bytes that are kept for a while. */
export interface MessageRoom {
  /** Takes room. Throws if there is none. */
  take(bytes: number): void
  /** Releases room that was taken. */
  give(bytes: number): void
}

/**
 * Yields a body as it arrives. Throws `deadline_exceeded` if no byte comes for `quietMs`, and
 * `canceled` if the client breaks off. The request is not destroyed when a reader stops early: its
 * answer goes over the same connection.
 */
export async function* bodyChunks(request: IncomingMessage, quietMs: number): AsyncGenerator<Buffer> {
  const quiet = new ConnectError('deadline_exceeded', `No byte arrived for ${quietMs / 1000} seconds.`)
  const chunks = request.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await within(chunks.next(), quietMs, quiet)
      if (next.done === true) break
      yield next.value as Buffer
    }
  } catch (error) {
    throw error instanceof ConnectError ? error : brokeOff(error)
  } finally {
    // A reader that waits for a byte would wait for the client before it returned.
    void chunks.return?.()?.catch(() => undefined)
  }
  if (!request.complete) throw brokeOff()
}

/**
 * Passes on chunks and counts their bytes as kept. Throws `resource_exhausted` if there is no room.
 */
export async function* countedChunks(chunks: AsyncIterable<Buffer>, { keep }: BodyLimits): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    if (!keep(chunk.length)) throw new ConnectError('resource_exhausted', 'Too many large requests are under way.')
    yield chunk
  }
}

/** Reads the body of a unary call. */
export async function readMessage(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const { maxMessageBytes, bodyTimeoutMs } = limits
  if (Number(request.headers['content-length'] ?? 0) > maxMessageBytes) throw tooLarge(maxMessageBytes)
  const body = new WholeBytes()
  const read = async () => {
    for await (const chunk of countedChunks(bodyChunks(request, bodyTimeoutMs), limits)) {
      if (body.length + chunk.length > maxMessageBytes) throw tooLarge(maxMessageBytes)
      body.add(chunk)
    }
    return body.take()
  }
  return inTime(read(), bodyTimeoutMs)
}

/** Returns the result of reading a body. Rejects if it takes longer than `timeoutMs`. */
export function inTime<Result>(reading: Promise<Result>, timeoutMs: number): Promise<Result> {
  const late = new ConnectError('deadline_exceeded', `The body did not arrive in ${timeoutMs / 1000} seconds.`)
  return within(reading, timeoutMs, late)
}

function tooLarge(maxBytes: number): ConnectError {
  return new ConnectError('resource_exhausted', `A message may have at most ${maxBytes} bytes.`)
}

function brokeOff(cause?: unknown): ConnectError {
  return new ConnectError('canceled', 'The request broke off.', { cause })
}

/** Returns what `work` resolves to. Rejects with `late` after some milliseconds. */
async function within<Result>(work: Promise<Result>, timeoutMs: number, late: Error): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late), timeoutMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
