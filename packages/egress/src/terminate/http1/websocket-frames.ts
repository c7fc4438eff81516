/** A part of the bytes that a WebSocket server sends (RFC 6455, 5.2). */
export type FramePart =
  /** A header, which is forwarded unchanged. */
  | { readonly type: 'header'; readonly bytes: Buffer }
  /** Content of a message, which may continue in the next frame. */
  | { readonly type: 'content'; readonly bytes: Buffer }
  /** The whole content of a ping, a pong or a close. */
  | { readonly type: 'control'; readonly bytes: Buffer }
  /** The end of the message. */
  | { readonly type: 'end' }
  /** A frame that no client would accept. The bytes from here on are not parsed. */
  | { readonly type: 'unknown'; readonly bytes: Buffer }

interface Frame {
  readonly isControl: boolean
  readonly isLast: boolean
  left: number
}

const shortestHeader = 2
const dataCodes = [0x0, 0x1, 0x2]
const controlCodes = [0x8, 0x9, 0xa]
const maxControlBytes = 125

/**
 * Reads frames of a server without a mask and without extensions, regardless of chunk boundaries.
 */
export class FrameReader {
  #waiting: Buffer = Buffer.alloc(0)
  #frame: Frame | null = null
  #isUnknown = false

  /** Returns the parts that these bytes complete, in order. */
  read(bytes: Buffer): FramePart[] {
    this.#waiting = this.#waiting.length === 0 ? bytes : Buffer.concat([this.#waiting, bytes])
    const read: FramePart[] = []
    while (this.#waiting.length > 0) {
      const parts = this.#next()
      if (parts === null) break
      read.push(...parts)
    }
    return read
  }

  /** Returns the next parts, or null if more bytes are needed. */
  #next(): FramePart[] | null {
    if (this.#isUnknown) return this.#unknown()
    return this.#frame === null ? this.#header() : this.#content(this.#frame)
  }

  #unknown(): FramePart[] {
    this.#isUnknown = true
    return [{ type: 'unknown', bytes: this.#take(this.#waiting.length) }]
  }

  #header(): FramePart[] | null {
    if (this.#waiting.length < shortestHeader) return null
    const [first = 0, second = 0] = this.#waiting
    const code = first & 0x0f
    const isControl = controlCodes.includes(code)
    const isKnown = (first & 0x70) === 0 && second < 0x80 && (isControl || dataCodes.includes(code))
    if (!isKnown || (isControl && (second > maxControlBytes || first < 0x80))) return this.#unknown()
    const length = shortestHeader + (second === 126 ? 2 : second === 127 ? 8 : 0)
    if (this.#waiting.length < length) return null
    const bytes = this.#take(length)
    const left = second === 126 ? bytes.readUInt16BE(2) : second === 127 ? Number(bytes.readBigUInt64BE(2)) : second
    const frame = { isControl, isLast: first >= 0x80, left }
    if (left > 0) this.#frame = frame
    return [{ type: 'header', bytes }, ...(left === 0 && !isControl && frame.isLast ? [{ type: 'end' } as const] : [])]
  }

  #content(frame: Frame): FramePart[] | null {
    if (frame.isControl && this.#waiting.length < frame.left) return null
    const bytes = this.#take(Math.min(frame.left, this.#waiting.length))
    frame.left -= bytes.length
    if (frame.left === 0) this.#frame = null
    if (frame.isControl) return [{ type: 'control', bytes }]
    return [{ type: 'content', bytes }, ...(frame.left === 0 && frame.isLast ? [{ type: 'end' } as const] : [])]
  }

  #take(length: number): Buffer {
    const taken = this.#waiting.subarray(0, length)
    this.#waiting = this.#waiting.subarray(length)
    return taken
  }
}
