/**
 * The maximum number of bytes that a side of a port's connection may send before the other has
 * passed them on.
 */
export const portWindowBytes = 256 * 1024

/** The maximum number of bytes of data in one frame. */
export const maxFrameDataBytes = 64 * 1024

const headBytes = 4
const kinds = { data: 0, end: 1, window: 2 } as const

/** An item from the other side: data as it arrives, its end, or room for more. */
export type PortItem =
  | { readonly type: 'data'; readonly bytes: Buffer }
  | { readonly type: 'end' }
  | { readonly type: 'window'; readonly bytes: number }

/** Returns bytes as a frame of data. */
export function dataFrame(bytes: Buffer): Buffer {
  return Buffer.concat([head('data', bytes.length), bytes])
}

/** Returns the frame that ends the data. */
export const endFrame = (): Buffer => head('end', 0)

/** Returns the frame that gives room for more. */
export const windowFrame = (bytes: number): Buffer => head('window', bytes)

function head(kind: keyof typeof kinds, count: number): Buffer {
  const word = Buffer.allocUnsafe(headBytes)
  word.writeUInt32BE(((kinds[kind] << 24) | count) >>> 0)
  return word
}

/**
 * Reads frames from parts of any size. Data is passed on as it arrives and is never joined. Throws
 * on an invalid frame.
 */
export class PortFrameReader {
  #dataLeft = 0
  #head = Buffer.alloc(0);
  *read(part: Buffer): Generator<PortItem, void, undefined> {
    let rest = part
    while (rest.length > 0) {
      if (this.#dataLeft > 0) {
        const bytes = rest.subarray(0, this.#dataLeft)
        this.#dataLeft -= bytes.length
        rest = rest.subarray(bytes.length)
        yield { type: 'data', bytes }
        continue
      }
      const missing = headBytes - this.#head.length
      this.#head = Buffer.concat([this.#head, rest.subarray(0, missing)])
      rest = rest.subarray(missing)
      if (this.#head.length < headBytes) return
      const item = this.#begin(this.#head.readUInt32BE())
      this.#head = Buffer.alloc(0)
      if (item !== null) yield item
    }
  }

  #begin(word: number): PortItem | null {
    const [kind, count] = [word >>> 24, word & 0xff_ffff]
    if (kind === kinds.data && count > 0 && count <= maxFrameDataBytes) {
      this.#dataLeft = count
      return null
    }
    if (kind === kinds.end && count === 0) return { type: 'end' }
    if (kind === kinds.window && count > 0 && count <= portWindowBytes) return { type: 'window', bytes: count }
    throw new Error('not a frame')
  }
}
