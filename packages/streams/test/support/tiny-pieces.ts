import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Pieces of one byte, and how many of them somebody keeps. */
export class TinyPieces {
  readonly #made: WeakRef<ArrayBufferLike>[] = []

  /** Makes the next piece. Its byte is a space, and so JSON can have any number of them. */
  next(): Buffer {
    const piece = Buffer.alloc(1, ' ')
    this.#made.push(new WeakRef(piece.buffer))
    return piece
  }

  async countKept(): Promise<number> {
    await setImmediate() // What was looked at in this turn is kept until its end.
    collectGarbage()
    return this.#made.filter((piece) => piece.deref() !== undefined).length
  }
}

/** Bytes of the process that are in use once there is no garbage. */
export async function bytesInUse(): Promise<number> {
  await setImmediate()
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
