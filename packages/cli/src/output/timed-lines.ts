/**
 * Puts a time before each line of output, in front of its first byte. Each stream has its own
 * lines.
 */
export class TimedLines {
  /** The streams whose last line has not ended. */
  readonly #open = new Set<string>()

  /**
   * Returns the bytes of a stream with the time of their reading before each line that begins in
   * them.
   */
  add(stream: string, bytes: Uint8Array, at: string): Uint8Array {
    const time = Buffer.from(`${at} `)
    const pieces: Uint8Array[] = []
    for (let from = 0; from < bytes.length; ) {
      const end = bytes.indexOf(lineFeed, from)
      const to = end < 0 ? bytes.length : end + 1
      if (!this.#open.has(stream)) pieces.push(time)
      pieces.push(bytes.subarray(from, to))
      if (end < 0) this.#open.add(stream)
      else this.#open.delete(stream)
      from = to
    }
    return Buffer.concat(pieces)
  }
}

const lineFeed = 0x0a
