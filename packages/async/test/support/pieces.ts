import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'vitest'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Pieces, and how many of them somebody keeps. */
export class Pieces {
  readonly #made: WeakRef<ArrayBufferLike>[] = []
  readonly #bytes: number

  /** Each of so many bytes. */
  constructor(bytes = 1) {
    this.#bytes = bytes
  }

  /** Makes the next piece. Its bytes are spaces, and so JSON can have any number of them. */
  next(): Buffer {
    const piece = Buffer.alloc(this.#bytes, ' ')
    this.#made.push(new WeakRef(piece.buffer))
    return piece
  }

  async countKept(): Promise<number> {
    await setImmediate() // What was looked at in this turn is kept until its end.
    collectGarbage()
    return this.#made.filter((piece) => piece.deref() !== undefined).length
  }
}

/**
 * Starts twenty waits, aborts each with its own reason, and returns the number of reasons that stay
 * in memory.
 */
export async function keptOfThoseWhoLeave(
  wait: (signal: AbortSignal, pieces: Pieces) => Promise<unknown>,
): Promise<number> {
  const pieces = new Pieces()
  for (let n = 0; n < 20; n += 1) {
    const leaving = new AbortController()
    const waiting = wait(leaving.signal, pieces)
    globalThis.setImmediate(() => leaving.abort(Object.assign(new Error('left'), { of: pieces.next() })))
    // Not by `expect`, which keeps what it has waited for.
    expect(await waiting.catch((error: Error) => error.message)).toBe('left')
  }
  return pieces.countKept()
}

/** Bytes of the process that are in use once there is no garbage. */
export async function bytesInUse(): Promise<number> {
  await setImmediate()
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
