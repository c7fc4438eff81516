import { TarError } from './errors.ts'

const EMPTY = new Uint8Array(0)
/** The maximum number of bytes that are skipped at once: a whole chunk. */
const DRAINED = Number.MAX_SAFE_INTEGER

/** Reads a stream of chunks by position. Only headers are copied. */
export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>
  #chunk: Uint8Array = EMPTY
  #at = 0
  #ended = false

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /**
   * Returns the next bytes as they arrive, at least one and at most `max`, or null at the end. They
   * are valid until the next call.
   */
  async some(max: number): Promise<Uint8Array | null> {
    while (this.#at === this.#chunk.length) {
      if (this.#ended) return null
      const next = await this.#source.next()
      this.#ended = next.done === true
      this.#chunk = next.done === true ? EMPTY : next.value
      this.#at = 0
    }
    const part = this.#chunk.subarray(this.#at, this.#at + max)
    this.#at += part.length
    return part
  }

  /**
   * Returns a copy of exactly `length` bytes, or null if the stream ends before the first of them.
   */
  async exactly(length: number): Promise<Buffer | null> {
    const bytes = Buffer.allocUnsafe(length)
    let filled = 0
    while (filled < length) {
      const part = await this.some(length - filled)
      if (part === null && filled === 0) return null
      if (part === null) throw new TarError('tar_truncated', '', 'the archive ends within a header')
      bytes.set(part, filled)
      filled += part.length
    }
    return bytes
  }

  /** Skips `length` bytes. Throws if the stream has fewer. */
  async skip(length: number): Promise<void> {
    for (let left = length; left > 0; ) {
      const part = await this.some(left)
      if (part === null) throw new TarError('tar_truncated', '', 'the archive ends within an entry')
      left -= part.length
    }
  }

  /**
   * Reads to the end, so that the writer of the stream can write all of its padding. Returns false
   * as soon as more than `maxBytes` follow.
   */
  async drain(maxBytes = Number.POSITIVE_INFINITY): Promise<boolean> {
    let seen = 0
    for (let part = await this.some(DRAINED); part !== null; part = await this.some(DRAINED)) {
      seen += part.length
      if (seen > maxBytes) return false
    }
    return true
  }

  /** Closes the source. */
  async close(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    await this.#source.return?.()
  }
}
