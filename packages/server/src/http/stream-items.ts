import { Readable } from 'node:stream'
import { News } from '../news.ts'
import type { StreamItem } from './call.ts'

/** How a stream's items are written. */
export type StreamFormat = 'text/event-stream' | 'application/x-ndjson'

/**
 * A quiet event stream says something this often, so that proxies keep it open and a dead client is
 * noticed.
 */
const heartbeatMs = 15_000

/** The format a client asks for by its `Accept` header; null where it asks for neither. */
export function acceptedFormat(accept: string | undefined): StreamFormat | null {
  if (accept === undefined) return null
  if (/\btext\/event-stream\b/i.test(accept)) return 'text/event-stream'
  if (/\bapplication\/(?:x-)?ndjson\b/i.test(accept)) return 'application/x-ndjson'
  return null
}

/**
 * Writes items as they come and no faster than they are read. The stream ends after the last item,
 * and breaks where the items break.
 */
export function writeItems(items: AsyncIterable<StreamItem>, format: StreamFormat): Readable {
  const texts = format === 'text/event-stream' ? withHeartbeat(items) : lines(items)
  return Readable.from(readBeforeBreak(texts), { objectMode: true, highWaterMark: 1 })
}

/**
 * The empty text at first has the answer's head go out before there is an item. A stream that
 * breaks drops what it has buffered: an empty text before the break is asked for only when all
 * before it has been read.
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
 * A promise that is looked at again and again until it settles. A promise keeps all that have
 * waited for it, and a stream may be quiet for months.
 */
class Coming<Value> {
  readonly promise: Promise<Value>
  readonly #news = new News()
  #settled = false

  constructor(promise: Promise<Value>) {
    this.promise = promise
    const settle = () => {
      this.#settled = true
      this.#news.come()
    }
    // Whoever awaits it sees the failure; where the reader left first, nobody is to be told.
    promise.then(settle, settle)
  }

  /** Whether it has settled, looked at after so long at the latest. */
  async isThere(ms: number): Promise<boolean> {
    if (!this.#settled) await this.#news.wait(ms)
    return this.#settled
  }
}

function event(item: StreamItem): string {
  return `event: ${item.type}\nid: ${item.cursor}\ndata: ${JSON.stringify(item)}\n\n`
}
