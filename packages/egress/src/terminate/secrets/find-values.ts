import { randomInt } from 'node:crypto'

/**
 * The base of the hashes. It is odd and random, so that no program can construct texts with the
 * hash of a value.
 */
const base = 2 * randomInt(2 ** 30) + 1

/** Called with a value that was found. The value ends before `end`. */
type OnFound = (value: number, end: number) => void

/**
 * Finds values of one length in a stream by a rolling hash (Karp and Rabin, 1987). Each byte costs
 * the same work. A search that compares letter by letter takes longer the more of a value a text
 * repeats, which a program could time.
 */
export class ValueFinder {
  readonly length: number
  readonly #values: readonly { readonly at: number; readonly bytes: Buffer }[]
  readonly #hashes: Int32Array
  /** `base` to the power of the length: the weight of the byte that leaves the window. */
  readonly #weight: number
  #hash = 0

  /** `values` all have `length` bytes. `onFound` gets the number `at` of a value. */
  constructor(length: number, values: readonly { readonly at: number; readonly bytes: Buffer }[]) {
    this.length = length
    this.#weight = powerOf(length)
    this.#values = values
    this.#hashes = Int32Array.from(values, ({ bytes }) => hashOf(bytes))
  }

  /**
   * Continues to read at `from`. At least `length` bytes precede it: the bytes read last, or zeros.
   */
  read(window: Buffer, from: number, onFound: OnFound): void {
    const { length } = this
    const weight = this.#weight
    const hashes = this.#hashes
    const count = hashes.length
    let hash = this.#hash
    for (let at = from; at < window.length; at++) {
      const change = ((window[at] ?? 0) - Math.imul(weight, window[at - length] ?? 0)) | 0
      hash = (Math.imul(hash, base) + change) | 0
      // A loop by number: an iterator for each byte would take most of the time.
      for (let value = 0; value < count; value++)
        if (hashes[value] === hash) this.#confirm(value, window.subarray(0, at + 1), onFound)
    }
    this.#hash = hash
  }

  /** Reports a value if the bytes read so far end with it. */
  #confirm(index: number, read: Buffer, onFound: OnFound): void {
    const value = this.#values[index]
    if (value?.bytes.equals(read.subarray(read.length - this.length)) === true) onFound(value.at, read.length)
  }

  /** Forgets the bytes read so far, as if they had been zeros. */
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
  // A loop by number: a call for each byte would take most of the time.
  for (let at = 0; at < bytes.length; at++) hash = (Math.imul(hash, base) + (bytes[at] ?? 0)) | 0
  return hash
}
