import { Readable } from 'node:stream'
import type { StreamItem } from './call.ts'

/** How a stream's items are written. */
export type StreamFormat = 'text/event-stream' | 'application/x-ndjson'

/** A quiet event stream says something this often, so that proxies keep it open and a dead client is noticed. */
const heartbeatMs = 15_000

/** The format a client asks for by its `Accept` header; null where it asks for neither. */
export function acceptedFormat(accept: string | undefined): StreamFormat | null {
  if (accept === undefined) return null
  if (/\btext\/event-stream\b/i.test(accept)) return 'text/event-stream'
  if (/\bapplication\/(?:x-)?ndjson\b/i.test(accept)) return 'application/x-ndjson'
  return null
}

/** Writes items as they come and no faster than they are read. The stream ends after the last item, and breaks where the items break. */
export function writeItems(items: AsyncIterable<StreamItem>, format: StreamFormat): Readable {
  const texts = format === 'text/event-stream' ? withHeartbeat(items) : lines(items)
  return Readable.from(readBeforeBreak(texts), { objectMode: true, highWaterMark: 1 })
}

/**
 * The empty text at first has the answer's head go out before there is an item. A stream that breaks drops what it has buffered: an empty text before
 * the break is asked for only when all before it has been read.
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
    for (let next = read(iterator); ; ) {
      const result = await orQuiet(next)
      if (result === null) {
        yield ': quiet\n\n'
        continue
      }
      if (result.done === true) return
      yield event(result.value)
      next = read(iterator)
    }
  } finally {
    await iterator.return?.()
  }
}

function read(iterator: AsyncIterator<StreamItem>): Promise<IteratorResult<StreamItem>> {
  const next = iterator.next()
  next.catch(() => {}) // Whoever awaits it sees the failure; where the reader left first, nobody is to be told.
  return next
}

function event(item: StreamItem): string {
  return `event: ${item.type}\nid: ${item.cursor}\ndata: ${JSON.stringify(item)}\n\n`
}

/** What comes first: the promise's value, or null after the heartbeat's time. */
async function orQuiet<Value>(promise: Promise<Value>): Promise<Value | null> {
  const { promise: quiet, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(resolve, heartbeatMs, null)
  try {
    return await Promise.race([promise, quiet])
  } finally {
    clearTimeout(timer)
  }
}
