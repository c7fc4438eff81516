/** A lock per key. Runs work of the same key in order, and work of different keys in parallel. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>()

  /** Runs `work` after all earlier work of the same key has settled. */
  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#tails.get(key)
    const mine = before === undefined ? work() : before.then(work, work)
    this.#tails.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#tails.get(key) === mine) this.#tails.delete(key)
    }
  }

  /** Resolves when all earlier work has settled, even if it failed. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#tails.values())
  }
}
