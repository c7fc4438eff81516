import { Readable } from 'node:stream'
import { Notification } from '../async/notification.ts'
import type { StreamItem } from './call.ts'

/** The format in which a stream's items are written. */
export type StreamFormat = 'text/event-stream' | 'application/x-ndjson'

/**
 * The interval at which a quiet event stream sends a comment, in milliseconds. Proxies keep the
 * stream open then, and a dead client is noticed.
 */
const heartbeatMs = 15_000

/**
 * Returns the format that a client asks for by its `Accept` header; null if it asks for neither.
 */
export function acceptedFormat(accept: string | undefined): StreamFormat | null {
  if (accept === undefined) return null
  if (/\btext\/event-stream\b/i.test(accept)) return 'text/event-stream'
  if (/\bapplication\/(?:x-)?ndjson\b/i.test(accept)) return 'application/x-ndjson'
  return null
}

/**
 * Writes items as they arrive, and no faster than they are read. The stream ends after the last
 * item, and fails if the items fail.
 */
export function writeItems(items: AsyncIterable<StreamItem>, format: StreamFormat): Readable {
  const texts = format === 'text/event-stream' ? withHeartbeat(items) : lines(items)
  return Readable.from(readBeforeBreak(texts), { objectMode: true, highWaterMark: 1 })
}

/**
 * Adds empty texts at the start and before a failure. The first one sends the head of the answer
 * before there is an item. A stream that fails drops its buffer. The last one is requested only
 * when everything before it has been read.
 */
async function* readBeforeBreak(texts: AsyncIterable<string>): AsyncGenerator<string> {
  yield ''
  try {
    yield* texts
  } catch (error) {
    yield ''
    throw error
  }
}

async function* lines(items: AsyncIterable<StreamItem>): AsyncGenerator<string> {
  for await (const item of items) yield `${JSON.stringify(item)}\n`
}

async function* withHeartbeat(items: AsyncIterable<StreamItem>): AsyncGenerator<string> {
  const iterator = items[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = new Coming(iterator.next())
      while (!(await next.isThere(heartbeatMs))) yield ': quiet\n\n'
      const result = await next.promise
      if (result.done === true) return
      yield event(result.value)
    }
  } finally {
    await iterator.return?.()
  }
}

/**
 * A promise whose state can be polled until it settles. A promise keeps all its waiters, and a
 * stream may be quiet for months.
 */
class Coming<Value> {
  readonly promise: Promise<Value>
  readonly #notification = new Notification()
  #settled = false

  constructor(promise: Promise<Value>) {
    this.promise = promise
    const settle = () => {
      this.#settled = true
      this.#notification.notify()
    }
    // A caller that awaits the promise gets the failure. If the reader left first, nobody needs it.
    promise.then(settle, settle)
  }

  /** Returns true if the promise has settled. Waits for that, for at most `ms` milliseconds. */
  async isThere(ms: number): Promise<boolean> {
    if (!this.#settled) await this.#notification.wait(ms)
    return this.#settled
  }
}

function event(item: StreamItem): string {
  return `event: ${item.type}\nid: ${item.cursor}\ndata: ${JSON.stringify(item)}\n\n`
}
