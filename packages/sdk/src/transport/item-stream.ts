import { HoltApiError, HoltConnectionError, HoltError } from '../errors/errors.ts'
import { asConnectionError } from './connected.ts'
import { backoffMs, sleep } from './retry.ts'

/**
 * The media type of a stream of items. The service keeps Server-Sent Events alive while a command
 * is silent.
 */
export const eventStream = 'text/event-stream'

/**
 * The age at which a connection counts as good, in milliseconds. Its end starts a new count of
 * breaks.
 */
const goodConnectionMs = 10_000

/**
 * Yields the items of Server-Sent Events (HTML Standard, 9.2), whose data is JSON. Incomplete items
 * are not yielded.
 */
export async function* readEvents<Item>(response: Response): AsyncGenerator<Item, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  let data: string[] = []
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines.map((text) => text.replace(/\r$/, ''))) {
      if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5))
      if (line !== '' || data.length === 0) continue
      yield JSON.parse(data.join('\n')) as Item
      data = []
    }
  }
}

/** An item of a stream that can be resumed after its cursor. */
export interface ResumableItem {
  readonly type: string
  readonly cursor: number
}

/** The description of a stream of items that can be opened again. */
export interface ResumableStream {
  /** The stream, if it is open already. */
  readonly first?: Response
  /** Opens the stream after a cursor. */
  readonly open: (cursor: number) => Promise<Response>
  /** False while the stream cannot be opened again. Default: it always can. */
  readonly canReopen?: () => boolean
  /** The message if the stream breaks and cannot be opened again. Default: that of a command. */
  readonly lostBeforeStart?: string
  /** The cursor to begin after. */
  readonly cursor: number
  /** The time for which a stream may stay broken, in milliseconds. */
  readonly resumeTimeoutMs: number
  readonly signal: AbortSignal | undefined
}

/**
 * Yields the items of a stream up to and including its `end`. A stream that breaks is opened again
 * after the last item, so that none is lost or repeated. It gives up after `resumeTimeoutMs`, which
 * allows for a restart of the service.
 */
export async function* resumeItems<Item extends ResumableItem>(
  stream: ResumableStream,
): AsyncGenerator<Item, void, undefined> {
  let { cursor, first } = stream
  let breaks = 0
  let brokenSinceMs = 0
  let wasOpen = first !== undefined
  for (;;) {
    let failure: unknown
    const opening = first ?? stream.open(cursor)
    first = undefined
    const openedMs = performance.now()
    try {
      const response = await opening
      wasOpen = true
      for await (const item of readEvents<Item>(response)) {
        cursor = item.cursor
        breaks = 0
        yield item
        if (item.type === 'end') return
      }
      failure = new HoltConnectionError('lost', 'The stream ended before its last item')
    } catch (error) {
      failure = error
    }
    stream.signal?.throwIfAborted()
    if (wasOpen && failure instanceof HoltApiError && failure.code === 'unauthenticated') throw keyEnded(failure)
    const nowMs = performance.now()
    if (breaks === 0 || nowMs - openedMs > goodConnectionMs) [breaks, brokenSinceMs] = [0, nowMs]
    breaks += 1
    if (!mayResume(failure) || nowMs - brokenSinceMs > stream.resumeTimeoutMs)
      throw asConnectionError(failure, 'The stream was interrupted')
    if (stream.canReopen?.() === false)
      throw new HoltConnectionError('lost', stream.lostBeforeStart ?? lostBeforeStart, { cause: failure })
    await sleep(backoffMs(breaks), stream.signal)
  }
}

const lostBeforeStart =
  'The connection was lost before the start of the command was confirmed. List the commands to see whether it runs'

/**
 * Returns true if the failure is of the connection: a TypeError, or a SyntaxError for a line cut in
 * two. An answer without a request id is a proxy's, before a service that restarts.
 */
export function mayResume(failure: unknown): boolean {
  if (failure instanceof HoltApiError) {
    const isOfProxy = failure.requestId === null && (failure.httpStatus === 502 || failure.httpStatus === 504)
    return failure.httpStatus === 503 || isOfProxy
  }
  if (failure instanceof HoltConnectionError) return failure.reason !== 'timeout'
  return failure instanceof TypeError || failure instanceof SyntaxError
}

/** Returns the error for a key that opened the stream and is no longer valid. */
function keyEnded(cause: HoltApiError): HoltError {
  return new HoltError('unauthenticated', 'The key was revoked or has expired while the stream was open.', {
    hint: 'Start again with another key.',
    cause,
  })
}
