import { randomInt } from 'node:crypto'

/** The base of the hashes: odd, and random, so that nobody can choose texts that have the hash of a value. */
const base = 2 * randomInt(2 ** 30) + 1

/** A value that was found: it ends before `end`. */
type OnFound = (value: number, end: number) => void

/**
 * Finds values of one length in a stream by a rolling hash (Karp and Rabin, 1987). The work for each byte is the same whatever the bytes are: a search that
 * compares letter by letter takes longer the more of a value a text repeats, and so tells a program that times it.
 */
export class ValueFinder {
  readonly length: number
  readonly #values: readonly { readonly at: number; readonly bytes: Buffer; readonly hash: number }[]
  /** `base` to the power of the length: the weight of the byte that leaves. */
  readonly #weight: number
  #hash = 0

  /** Values that all have `length` bytes, each with the number that `onFound` is told. */
  constructor(length: number, values: readonly { readonly at: number; readonly bytes: Buffer }[]) {
    this.length = length
    this.#weight = Array.from({ length }).reduce<number>((power) => Math.imul(power, base), 1)
    this.#values = values.map((value) => ({ ...value, hash: hashOf(value.bytes) }))
  }

  /** Reads on at `from`. At least `length` bytes stand before it: those that were read last, or zeros. */
  read(window: Buffer, from: number, onFound: OnFound): void {
    const { length } = this
    let hash = this.#hash
    for (let at = from; at < window.length; at++) {
      hash = (Math.imul(hash, base) + (window[at] ?? 0) - Math.imul(this.#weight, window[at - length] ?? 0)) | 0
      for (const value of this.#values)
        if (value.hash === hash && value.bytes.equals(window.subarray(at + 1 - length, at + 1)))
          onFound(value.at, at + 1)
    }
    this.#hash = hash
  }

  /** Forgets what was read, as if zeros had been. */
  forget(): void {
    this.#hash = 0
  }
}

function hashOf(bytes: Buffer): number {
  return bytes.reduce((hash, byte) => (Math.imul(hash, base) + byte) | 0, 0)
}
