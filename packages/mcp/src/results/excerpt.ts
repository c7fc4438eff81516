const newline = 0x0a

/** The bytes that an excerpt keeps of the beginning and of the end. */
export interface ExcerptSize {
  readonly headBytes: number
  readonly tailBytes: number
}

/** The middle of a stream that an excerpt leaves out. */
export interface LeftOut {
  readonly bytes: number
  /** The cursor of its first byte. */
  readonly cursor: number
}

/**
 * The beginning and the end of a stream of bytes that may be of any length. Both are cut at ends of
 * lines if there are any near, and never inside a character of UTF-8.
 */
export class Excerpt {
  readonly #size: ExcerptSize
  #head = new Uint8Array(0)
  #tail: Uint8Array[] = []
  #tailBytes = 0
  #bytes = 0
  /** For the pieces of the head: the position of their first byte in the stream, and its cursor. */
  readonly #marks: { readonly position: number; readonly cursor: number }[] = []

  constructor(size: ExcerptSize) {
    this.#size = size
  }

  /** The bytes of the whole stream. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds a piece. `cursor` is that of its first byte. */
  add(piece: Uint8Array, cursor: number): void {
    const room = this.#size.headBytes - this.#head.length
    if (room > 0) this.#marks.push({ position: this.#bytes, cursor })
    this.#bytes += piece.length
    const ofHead = piece.subarray(0, room)
    if (ofHead.length > 0) this.#head = joined([this.#head, ofHead])
    const ofTail = piece.subarray(ofHead.length)
    if (ofTail.length === 0) return
    // A copy: the piece may be a view of a large buffer.
    this.#tail.push(ofTail.slice(-this.#size.tailBytes))
    this.#tailBytes += Math.min(ofTail.length, this.#size.tailBytes)
    for (let [first] = this.#tail; first !== undefined; [first] = this.#tail) {
      if (this.#tailBytes - first.length < this.#size.tailBytes) break
      this.#tail.shift()
      this.#tailBytes -= first.length
    }
  }

  /** Returns the text. `note` writes the line in place of the middle. */
  text(note: (leftOut: LeftOut) => string): string {
    const tail = joined(this.#tail).subarray(-this.#size.tailBytes)
    if (this.#head.length + tail.length >= this.#bytes) return decoded(joined([this.#head, tail]))
    const head = this.#head.subarray(0, endOfHead(this.#head))
    const shown = tail.subarray(beginOfTail(tail))
    const leftOut = { bytes: this.#bytes - head.length - shown.length, cursor: this.#cursorOf(head.length) }
    const before = decoded(head)
    return `${before}${before.endsWith('\n') ? '' : '\n'}${note(leftOut)}\n${decoded(shown)}`
  }

  #cursorOf(position: number): number {
    const mark = this.#marks.findLast((one) => one.position <= position) ?? { position: 0, cursor: 0 }
    return mark.cursor + position - mark.position
  }
}

function endOfHead(head: Uint8Array): number {
  const line = head.lastIndexOf(newline) + 1
  if (line > head.length / 2) return line
  let end = head.length
  while (end > 0 && isInside(head[end - 1])) end -= 1
  // The byte before is the first of a character whose rest may be missing.
  return end > 0 && end <= head.length && (head[end - 1] ?? 0) >= 0xc0 ? end - 1 : head.length
}

function beginOfTail(tail: Uint8Array): number {
  const line = tail.indexOf(newline) + 1
  if (line > 0 && line < tail.length / 2) return line
  let begin = 0
  while (isInside(tail[begin])) begin += 1
  return begin
}

/** Returns true for a byte of a character behind its first one (RFC 3629, 3). */
function isInside(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

function decoded(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}
