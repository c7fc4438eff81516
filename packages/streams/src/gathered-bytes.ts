/** The least that is reserved. */
const leastBytes = 256

/**
 * Bytes that come in pieces, kept as one: they take about twice their number at the most, and a
 * time in proportion to it, however small the pieces are. A piece of one byte takes some hundreds
 * by itself.
 */
export class GatheredBytes {
  #room: Buffer = Buffer.alloc(0)
  #start = 0
  #end = 0

  /** How many there are. */
  get length(): number {
    return this.#end - this.#start
  }

  add(piece: Uint8Array): void {
    if (this.#end + piece.length > this.#room.length) this.#move(piece.length)
    this.#room.set(piece, this.#end)
    this.#end += piece.length
  }

  /** Takes the oldest, `most` of them at the most. */
  take(most: number = this.length): Buffer {
    const taken = this.#room.subarray(this.#start, this.#start + Math.min(most, this.length))
    this.#start += taken.length
    if (this.length === 0) this.clear()
    return taken
  }

  clear(): void {
    this.#room = Buffer.alloc(0)
    this.#start = 0
    this.#end = 0
  }

  /** What has been taken is somebody else's by now, and is left alone. */
  #move(bytes: number): void {
    const room = Buffer.allocUnsafeSlow(Math.max(leastBytes, 2 * this.length, this.length + bytes))
    this.#room.copy(room, 0, this.#start, this.#end)
    this.#end = this.length
    this.#start = 0
    this.#room = room
  }
}
