/** The smallest buffer that is allocated, in bytes. */
const leastBytes = 256

/**
 * A queue of bytes that arrive in pieces, kept in one buffer. The buffer is at most about twice as
 * large as its content. The time to fill it is proportional to the number of bytes, however small
 * the pieces are. A separate buffer of one byte takes some hundreds of bytes.
 */
export class GatheredBytes {
  #room: Buffer = Buffer.alloc(0)
  #start = 0
  #end = 0

  /** The number of bytes in the queue. */
  get length(): number {
    return this.#end - this.#start
  }

  add(piece: Uint8Array): void {
    if (this.#end + piece.length > this.#room.length) this.#move(piece.length)
    this.#room.set(piece, this.#end)
    this.#end += piece.length
  }

  /** Removes and returns the oldest bytes, at most `most` of them. */
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

  /** Bytes that were taken belong to the caller by now, so they are not overwritten. */
  #move(bytes: number): void {
    const room = Buffer.allocUnsafeSlow(Math.max(leastBytes, 2 * this.length, this.length + bytes))
    this.#room.copy(room, 0, this.#start, this.#end)
    this.#end = this.length
    this.#start = 0
    this.#room = room
  }
}
