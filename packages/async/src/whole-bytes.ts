import { GatheredBytes } from './gathered-bytes.ts'

/**
 * The size from which pieces are kept as they are, in bytes. To copy one costs more than it saves.
 * Smaller pieces are merged until they reach this size.
 */
const pieceBytes = 16 * 1024

/**
 * Bytes that are kept until all have arrived. They take little more memory than their number,
 * however small the pieces are.
 */
export class WholeBytes {
  readonly #pieces: Uint8Array[] = []
  readonly #small = new GatheredBytes()
  #length = 0

  /** The number of bytes. */
  get length(): number {
    return this.#length
  }

  add(piece: Uint8Array): void {
    this.#length += piece.length
    const isAlone = piece.length >= pieceBytes
    if (!isAlone) this.#small.add(piece)
    if (isAlone || this.#small.length >= pieceBytes) this.#endSmall()
    if (isAlone) this.#pieces.push(piece)
  }

  /** Removes and returns all bytes, in one piece. */
  take(): Buffer {
    this.#endSmall()
    const whole = Buffer.concat(this.#pieces)
    this.clear()
    return whole
  }

  /** Removes all bytes. */
  clear(): void {
    this.#pieces.length = 0
    this.#small.clear()
    this.#length = 0
  }

  #endSmall(): void {
    if (this.#small.length > 0) this.#pieces.push(this.#small.take())
  }
}
