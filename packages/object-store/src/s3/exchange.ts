import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { ObjectStoreError } from '../contract/object-store-error.ts'

/** A signed request. */
export interface SignedRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | null
}

/** An answer whose body has not been read. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: IncomingMessage
}

export interface ExchangeOptions {
  readonly agent: Agent
  /** The longest time without a byte in either direction. */
  readonly silenceMs: number
  readonly signal: AbortSignal | undefined
}

/** Sends a request, and returns the answer when its head is there. */
export function exchange(sent: SignedRequest, { agent, silenceMs, signal }: ExchangeOptions): Promise<Answer> {
  const { method, url, headers, body } = sent
  signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const start = url.protocol === 'https:' ? requestHttps : requestHttp
    const request = start(url, { method, headers, agent, ...(signal === undefined ? {} : { signal }) })
    request.setTimeout(silenceMs, () => request.destroy(new Error(`no byte for ${silenceMs} ms`)))
    request.on('response', (response) => {
      request.setTimeout(0)
      response.on('error', () => {
        // The reader of the body gets the error. After the consumer has stopped there is none.
      })
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: response })
    })
    request.on('error', (error) => reject(signal?.aborted === true ? signal.reason : brokenOff(error)))
    request.end(body ?? undefined)
  })
}

/**
 * Returns the bytes of an answer as they arrive. The time that the consumer takes does not count.
 * Bytes that come too slowly are a broken connection: at least `leastBytesPerSecond` on average
 * over each time of `silenceMs`.
 */
export async function* bytesOf(
  answer: Answer,
  { silenceMs, signal }: Pick<ExchangeOptions, 'silenceMs' | 'signal'>,
): AsyncGenerator<Uint8Array, void> {
  const iterator = answer.body[Symbol.asyncIterator]()
  let [waitedMs, arrived] = [0, 0]
  try {
    for (;;) {
      const begun = performance.now()
      const tooLate = setTimeout(() => answer.body.destroy(new Error(`no byte for ${silenceMs} ms`)), silenceMs)
      const next = await iterator.next().finally(() => clearTimeout(tooLate))
      if (next.done === true) return
      const piece: Uint8Array = next.value
      waitedMs += performance.now() - begun
      arrived += piece.length
      if (waitedMs > silenceMs) {
        if (arrived * 1000 < leastBytesPerSecond * waitedMs) throw new Error(`only ${arrived} bytes in ${waitedMs} ms`)
        waitedMs = arrived = 0
      }
      yield piece
    }
  } catch (error) {
    signal?.throwIfAborted()
    throw brokenOff(error)
  } finally {
    answer.body.destroy()
  }
}

/** The rate below which a connection counts as broken. */
const leastBytesPerSecond = 4096

function brokenOff(error: unknown): ObjectStoreError {
  const why =
    error instanceof Error && error.message !== '' ? error.message : String((error as { code?: unknown }).code)
  return new ObjectStoreError('unavailable', `the object store does not answer: ${why}`, { cause: error })
}
