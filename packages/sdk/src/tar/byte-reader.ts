import { HoltError } from '../errors/errors.ts'

/** Reads a stream of chunks in pieces of any size. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  #left: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]()
  }

  /** Returns exactly this number of bytes. A stream that ends earlier is not a whole archive. */
  async read(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for await (const part of this.stream(bytes)) parts.push(part)
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
  }

  /** Yields exactly this number of bytes, as they arrive. */
  async *stream(bytes: number): AsyncGenerator<Buffer, void, undefined> {
    for (let left = bytes; left > 0; ) {
      if (this.#left.length === 0 && !(await this.#more()))
        throw new HoltError('invalid_archive', 'The archive ends too early')
      const part = this.#left.subarray(0, left)
      this.#left = this.#left.subarray(part.length)
      left -= part.length
      yield part
    }
  }

  /** Reads the rest, at most this number of bytes, and returns true if that was all. */
  async drain(maxBytes: number): Promise<boolean> {
    let seen = this.#left.length
    while (seen <= maxBytes && (await this.#more())) seen += this.#left.length
    return seen <= maxBytes
  }

  /** Closes the stream. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }

  async #more(): Promise<boolean> {
    for (;;) {
      const next = await this.#chunks.next()
      if (next.done === true) return false
      if (next.value.length === 0) continue
      this.#left = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.length)
      return true
    }
  }
}
