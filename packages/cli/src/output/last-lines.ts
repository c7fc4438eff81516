/** A piece of one of a command's streams. */
interface Piece {
  readonly stream: NodeJS.WriteStream
  readonly bytes: Uint8Array
}

const lineFeed = 0x0a

/**
 * Keeps the last lines of all streams together, in the order of their arrival. A line without an
 * end counts as one.
 */
export class LastLines {
  readonly #count: number
  readonly #pieces: Piece[] = []
  /** The number of line ends in the pieces. */
  #ends = 0

  constructor(count: number) {
    this.#count = count
  }

  add(piece: Piece): void {
    if (piece.bytes.length === 0) return
    this.#pieces.push(piece)
    this.#ends += endsIn(piece.bytes)
    // A piece is removed as soon as enough lines follow it. A long output therefore takes no more
    // memory than its end.
    for (let [first] = this.#pieces; first !== undefined; [first] = this.#pieces) {
      const rest = this.#ends - endsIn(first.bytes)
      if (rest <= this.#count) return
      this.#pieces.shift()
      this.#ends = rest
    }
  }

  /** Returns the last lines, and forgets them. */
  take(): readonly Piece[] {
    const pieces = this.#pieces.splice(0)
    const isOpen = pieces.at(-1)?.bytes.at(-1) !== lineFeed
    let surplus = this.#ends + (isOpen ? 1 : 0) - this.#count
    this.#ends = 0
    return pieces.flatMap(({ stream, bytes }) => {
      let from = 0
      for (; surplus > 0 && from < bytes.length; surplus--) {
        const end = bytes.indexOf(lineFeed, from)
        from = end < 0 ? bytes.length : end + 1
        if (end < 0) surplus++ // Its line continues in the next piece.
      }
      return from === bytes.length ? [] : [{ stream, bytes: bytes.subarray(from) }]
    })
  }
}

function endsIn(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) count += 1
  return count
}
