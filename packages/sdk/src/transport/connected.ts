import { HoltConnectionError } from '../errors/errors.ts'
import { streamOf } from './stream-of.ts'

/**
 * Returns the error for the end of a broken body. In that case fetch throws a TypeError, and a line
 * that is cut in two is invalid JSON.
 */
export function asConnectionError(failure: unknown, what: string): unknown {
  if (!(failure instanceof TypeError || failure instanceof SyntaxError)) return failure
  return new HoltConnectionError('lost', `${what}: ${failure.message}`, { cause: failure })
}

/**
 * Yields parts that arrive over a connection. A broken connection becomes a `HoltConnectionError`,
 * and an aborted one the signal's reason.
 */
export async function* connected<Part>(
  parts: AsyncIterable<Part>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Part, void, undefined> {
  try {
    yield* parts
  } catch (error) {
    signal?.throwIfAborted()
    throw asConnectionError(error, 'The transfer was interrupted')
  }
}

/** Returns the body of a response as a Web stream with the same errors. */
export function connectedStream(
  response: Response,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return streamOf(connected(bodyOf(response), signal)) as ReadableStream<Uint8Array<ArrayBuffer>>
}

/**
 * Yields the body of a response. The response is held until then: fetch cancels the unread body of
 * a response that is collected as garbage, and the body then ends without an error.
 */
async function* bodyOf(response: Response): AsyncGenerator<Uint8Array, void, undefined> {
  yield* response.body ?? []
}
