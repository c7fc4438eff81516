import { GatheredBytes, oddShapeOf } from '@holt/async'
import { EngineError } from '@holt/engine'
import { freeBytes } from '../../tenancy/limits/kept-memory.ts'
import type { BridgeAnswer } from './bridge-answer.ts'
import { bridgeFailed } from './bridge-errors.ts'
import { BridgeItem } from './bridge-schemas.ts'

/** The maximum number of bytes of one item. A picture of 10 MiB has 14 MiB as base64. */
export const maxItemBytes = 16 * 1024 * 1024

/** The bounds on the shape of an item. A chart as data has a value for each point. */
const shapeBounds = { maxDepth: 64, maxValues: 250_000 }

const newline = 0x0a

/** An item of a run, or the size of one for which there was no memory. */
export type ReadItem = BridgeItem | { readonly type: 'unread'; readonly bytes: number }

/**
 * Reads the items of a run, up to and including its `end`. Throws `EngineError` `unavailable` if
 * the stream ends without it, and `code_interpreter_failed` if it violates the protocol. `keep`
 * returns true if so many more bytes may be in memory; the items with more are `unread`.
 */
export async function* readBridgeItems(
  answer: BridgeAnswer,
  keep: (bytes: number) => boolean,
): AsyncGenerator<ReadItem> {
  let isComplete = false
  try {
    for await (const line of linesOf(answer, new Room(keep))) {
      const item = 'unread' in line ? { type: 'unread' as const, bytes: line.unread } : parseItem(line.bytes)
      isComplete = item.type === 'end'
      yield item
      if (isComplete) return
    }
    throw new EngineError('unavailable', 'the bridge of a runtime interrupted a stream')
  } finally {
    if (isComplete) answer.letEnd()
    else answer.destroy()
  }
}

type Line = { readonly bytes: Buffer } | { readonly unread: number }

async function* linesOf(answer: BridgeAnswer, room: Room): AsyncGenerator<Line> {
  const line = new GatheredBytes()
  let unread = 0
  for await (const chunk of answer.chunks()) {
    for (let at = 0; at < chunk.length; ) {
      // Only the new chunk is searched: a line may arrive in very many pieces.
      const end = chunk.indexOf(newline, at)
      const piece = chunk.subarray(at, end < 0 ? chunk.length : end)
      at += piece.length + 1
      const length = line.length + unread + piece.length
      if (length > maxItemBytes) throw bridgeFailed(`an item of more than ${maxItemBytes} bytes`)
      if (unread === 0 && room.has(length)) line.add(piece)
      else {
        unread = length
        line.clear()
      }
      if (end < 0) continue
      yield unread > 0 ? { unread } : { bytes: line.take() }
      unread = 0
    }
  }
}

/** The memory for one line at a time: that of the longest so far. */
class Room {
  readonly #keep: (bytes: number) => boolean
  #bytes = freeBytes

  constructor(keep: (bytes: number) => boolean) {
    this.#keep = keep
  }

  has(bytes: number): boolean {
    if (bytes <= this.#bytes) return true
    const wanted = Math.max(bytes, Math.min(maxItemBytes, 2 * this.#bytes))
    if (!this.#keep(wanted - this.#bytes)) return false
    this.#bytes = wanted
    return true
  }
}

function parseItem(bytes: Buffer): BridgeItem {
  if (oddShapeOf(bytes, shapeBounds) !== null) throw bridgeFailed('an item with too many values')
  try {
    return BridgeItem.parse(JSON.parse(bytes.toString('utf8')))
  } catch (cause) {
    throw bridgeFailed('an item is not one of the protocol', { cause })
  }
}
