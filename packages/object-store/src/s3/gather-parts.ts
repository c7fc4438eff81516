import { createHash } from 'node:crypto'

/** A part of an object in memory. */
export interface Part {
  readonly bytes: Uint8Array
  readonly sha256: Buffer
  /** True if no part follows. */
  readonly isLast: boolean
}

/**
 * Cuts a sequence into parts of equal size; the last one is smaller. An empty sequence is one empty
 * part. Digests are computed piece by piece, so that no long computation blocks the process.
 */
export async function* gatherParts(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  partBytes: number,
): AsyncGenerator<Part, void> {
  let part = new PartInProgress(partBytes)
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      if (part.isFull) {
        yield part.finish(false)
        part = new PartInProgress(partBytes)
      }
      at += part.add(piece.subarray(at))
    }
  }
  yield part.finish(true)
}

class PartInProgress {
  readonly #bytes: Buffer
  readonly #hash = createHash('sha256')
  #filled = 0

  constructor(partBytes: number) {
    this.#bytes = Buffer.allocUnsafe(partBytes)
  }

  get isFull(): boolean {
    return this.#filled === this.#bytes.length
  }

  /** Takes the bytes that have room, and returns their number. */
  add(bytes: Uint8Array): number {
    const taken = bytes.subarray(0, this.#bytes.length - this.#filled)
    this.#bytes.set(taken, this.#filled)
    this.#hash.update(taken)
    this.#filled += taken.length
    return taken.length
  }

  finish(isLast: boolean): Part {
    return { bytes: this.#bytes.subarray(0, this.#filled), sha256: this.#hash.digest(), isLast }
  }
}
