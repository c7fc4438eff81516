import type { Readable } from 'node:stream'

/** Takes bytes off the front of a stream on demand. The stream waits meanwhile. */
export class ByteQueue {
  readonly #chunks: AsyncIterator<Buffer, undefined>
  #buffered: Buffer = Buffer.alloc(0)

  constructor(stream: Readable) {
    this.#chunks = stream.iterator({ destroyOnReturn: false })
  }

  /** Waits for bytes. Returns false at the stream's end. */
  async hasMore(): Promise<boolean> {
    return this.#buffered.length > 0 || this.#fill()
  }

  /**
   * Returns everything before a delimiter, and removes both. Returns null if the delimiter does not
   * arrive within `maxBytes` or the stream ends before.
   */
  async until(delimiter: string, maxBytes: number): Promise<Buffer | null> {
    for (let searched = 0; ; ) {
      const end = this.#buffered.indexOf(delimiter, searched, 'latin1')
      if (end > maxBytes || (end < 0 && this.#buffered.length >= maxBytes + delimiter.length)) return null
      if (end >= 0) {
        const taken = this.#buffered.subarray(0, end)
        this.#buffered = this.#buffered.subarray(end + delimiter.length)
        return taken
      }
      searched = Math.max(0, this.#buffered.length - delimiter.length + 1)
      if (!(await this.#fill())) return null
    }
  }

  /** Returns at least one byte and at most `maxBytes`, or null at the end. */
  async some(maxBytes: number): Promise<Buffer | null> {
    if (!(await this.hasMore())) return null
    const taken = this.#buffered.subarray(0, maxBytes)
    this.#buffered = this.#buffered.subarray(taken.length)
    return taken
  }

  /** Releases the stream and returns the bytes that were read but not taken. */
  async release(): Promise<Buffer> {
    await this.#chunks.return?.()
    return this.#buffered
  }

  async #fill(): Promise<boolean> {
    const { value } = await this.#chunks.next()
    if (value === undefined) return false
    this.#buffered = this.#buffered.length === 0 ? value : Buffer.concat([this.#buffered, value])
    return true
  }
}
