import type { ByteReader } from './byte-reader.ts'
import { paddingOf } from './decode-header.ts'
import { TarError } from './errors.ts'

/** The bytes of one entry in the archive. Unread bytes are skipped before the next header. */
export class MemberBody implements AsyncIterable<Uint8Array> {
  readonly #reader: ByteReader
  readonly #path: Uint8Array
  readonly #padding: number
  #left: number
  #closed = false

  constructor(reader: ByteReader, path: Uint8Array, size: number) {
    this.#reader = reader
    this.#path = path
    this.#left = size
    this.#padding = paddingOf(size)
  }

  /** The number of unread bytes. */
  get left(): number {
    return this.#left
  }

  /** Returns at most `max` of the next bytes, or null at the end of the entry. */
  async some(max: number): Promise<Uint8Array | null> {
    if (this.#closed) throw new Error('the content of an entry was read after the entry behind it')
    if (this.#left === 0) return null
    const part = await this.#reader.some(Math.min(max, this.#left))
    if (part === null) throw new TarError('tar_truncated', this.#path, 'the archive ends within an entry')
    this.#left -= part.length
    return part
  }

  /**
   * Returns a copy of the rest of the entry. The caller must have bounded the size of the entry.
   */
  async all(): Promise<Buffer> {
    const bytes = Buffer.alloc(this.#left)
    for (let at = 0; at < bytes.length; ) {
      const part = await this.some(bytes.length - at)
      if (part === null) break
      bytes.set(part, at)
      at += part.length
    }
    await this.close()
    return bytes
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (let part = await this.some(Infinity); part !== null; part = await this.some(Infinity)) yield part
  }

  /** Moves the reader behind the entry. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#reader.skip(this.#left)
    // The last padding of the archive may be missing: some writers stop right behind the content.
    let padding = this.#padding
    while (padding > 0) padding -= (await this.#reader.some(padding))?.length ?? padding
    this.#left = 0
  }
}
