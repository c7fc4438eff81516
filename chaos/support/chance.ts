import { randomInt } from 'node:crypto'

/** Chance that can be had again: the same seed gives the same numbers. Mulberry32, by T. Ettinger, in the public domain. */
export class Chance {
  readonly seed: number
  #state: number

  /** Default: the seed of `HOLT_CHAOS_SEED`, else one that nobody knows. Print it. */
  constructor(seed = Number(process.env.HOLT_CHAOS_SEED ?? randomInt(2 ** 32))) {
    this.seed = seed
    this.#state = seed
  }

  /** From 0 on, below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 on, below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** One of these, which are not none. */
  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value
  }

  /** So many of these at the most, each once, in their order. */
  some<Value>(values: readonly Value[], count: number): readonly Value[] {
    const left = values.map((_, index) => index)
    while (left.length > count) left.splice(this.below(left.length), 1)
    return left.map((index) => values[index] as Value)
  }
}
