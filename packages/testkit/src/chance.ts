import { testSeed } from './test-seed.ts'

/**
 * A source of repeatable random numbers: the same seed gives the same numbers. The algorithm is
 * Mulberry32, by T. Ettinger, in the public domain.
 */
export class Chance {
  readonly seed: number
  #state: number

  /** Uses the seed of the run by default. */
  constructor(seed = testSeed()) {
    this.seed = seed
    this.#state = seed
  }

  /** Returns a number of at least 0 and less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** Returns a whole number of at least 0 and less than `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** Returns one of the values. There must be at least one. */
  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value
  }

  /** Returns at most `count` of the values, each once, in their order. */
  some<Value>(values: readonly Value[], count: number): readonly Value[] {
    const left = values.map((_, index) => index)
    while (left.length > count) left.splice(this.below(left.length), 1)
    return left.map((index) => values[index] as Value)
  }
}
