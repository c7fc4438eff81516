/** A part of an output, of at most `maxBytes`, and the cursor at which the next part begins. */
export class OutputPart {
  readonly #maxBytes: number
  readonly #pieces: Uint8Array[] = []
  #bytes = 0
  #cursor: number

  constructor(cursor: number, maxBytes: number) {
    this.#cursor = cursor
    this.#maxBytes = maxBytes
  }

  /** The cursor after the last byte of the part. */
  get cursor(): number {
    return this.#cursor
  }

  /** Takes a piece whose first byte is at `cursor`. Returns false when the part is full. */
  add(piece: Uint8Array, cursor: number): boolean {
    const kept = piece.subarray(0, this.#maxBytes - this.#bytes)
    this.#pieces.push(kept)
    this.#bytes += kept.length
    this.#cursor = cursor + kept.length
    return this.#bytes < this.#maxBytes
  }

  /** Continues at a cursor, because earlier output is no longer kept. */
  skipTo(cursor: number): void {
    this.#cursor = cursor
  }

  get text(): string {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    return this.#pieces.map((piece) => decoder.decode(piece, { stream: true })).join('') + decoder.decode()
  }
}
