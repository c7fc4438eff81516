import { HoltConnectionError } from './errors.ts'

/**
 * Returns what the end of a broken body means: fetch throws a TypeError, and a line that is cut in
 * two is no JSON.
 */
export function asConnectionError(failure: unknown, what: string): unknown {
  if (!(failure instanceof TypeError || failure instanceof SyntaxError)) return failure
  return new HoltConnectionError('lost', `${what}: ${failure.message}`, { cause: failure })
}

/**
 * Yields parts that come over a connection; one that breaks is a `HoltConnectionError`, and an
 * aborted one the signal's reason.
 */
export async function* connected<Part>(
  parts: AsyncIterable<Part>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Part, void, undefined> {
  try {
    yield* parts
  } catch (error) {
    signal?.throwIfAborted()
    throw asConnectionError(error, 'The transfer broke off')
  }
}

/** The same of a Web stream. */
export function connectedStream(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from(connected(body, signal)) as ReadableStream<Uint8Array<ArrayBuffer>>
}
