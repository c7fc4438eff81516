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
  readonly #values: readonly { readonly at: number; readonly bytes: Buffer }[]
  readonly #hashes: Int32Array
  /** `base` to the power of the length: the weight of the byte that leaves. */
  readonly #weight: number
  #hash = 0

  /** Values that all have `length` bytes, each with the number that `onFound` is told. */
  constructor(length: number, values: readonly { readonly at: number; readonly bytes: Buffer }[]) {
    this.length = length
    this.#weight = powerOf(length)
    this.#values = values
    this.#hashes = Int32Array.from(values, ({ bytes }) => hashOf(bytes))
  }

  /** Reads on at `from`. At least `length` bytes stand before it: those that were read last, or zeros. */
  read(window: Buffer, from: number, onFound: OnFound): void {
    const { length } = this
    const weight = this.#weight
    const hashes = this.#hashes
    const count = hashes.length
    let hash = this.#hash
    for (let at = from; at < window.length; at++) {
      const change = ((window[at] ?? 0) - Math.imul(weight, window[at - length] ?? 0)) | 0
      hash = (Math.imul(hash, base) + change) | 0
      // By number: an iterator for each byte would take most of the time.
      for (let value = 0; value < count; value++)
        if (hashes[value] === hash) this.#confirm(value, window.subarray(0, at + 1), onFound)
    }
    this.#hash = hash
  }

  /** Tells of a value if what was read ends with it. */
  #confirm(index: number, read: Buffer, onFound: OnFound): void {
    const value = this.#values[index]
    if (value?.bytes.equals(read.subarray(read.length - this.length)) === true) onFound(value.at, read.length)
  }

  /** Forgets what was read, as if zeros had been. */
  forget(): void {
    this.#hash = 0
  }
}

function powerOf(exponent: number): number {
  let power = 1
  for (let times = 0; times < exponent; times++) power = Math.imul(power, base)
  return power
}

function hashOf(bytes: Buffer): number {
  let hash = 0
  // By number: a call for each byte would take most of the time.
  for (let at = 0; at < bytes.length; at++) hash = (Math.imul(hash, base) + (bytes[at] ?? 0)) | 0
  return hash
}
