import { GatheredBytes } from './gathered-bytes.ts'

/**
 * Pieces of this size are kept as they are: to copy one would cost more than it saves. Smaller ones
 * are put together until they are as large.
 */
const pieceBytes = 16 * 1024

/**
 * Bytes that are kept until all have come: in as much memory as there are of them, and little more,
 * however small the pieces are.
 */
export class WholeBytes {
  readonly #pieces: Uint8Array[] = []
  readonly #small = new GatheredBytes()
  #length = 0

  /** How many there are. */
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

  /** Takes all of them, in one piece. */
  take(): Buffer {
    this.#endSmall()
    const whole = Buffer.concat(this.#pieces)
    this.clear()
    return whole
  }

  /** Lets go of them. */
  clear(): void {
    this.#pieces.length = 0
    this.#small.clear()
    this.#length = 0
  }

  #endSmall(): void {
    if (this.#small.length > 0) this.#pieces.push(this.#small.take())
  }
}
