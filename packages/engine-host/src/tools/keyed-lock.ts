/** Runs one work at a time for each key, in the order of the calls. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>()

  /** Runs `work` after all earlier work for the same key has settled. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve()
    const turn = Promise.withResolvers<void>()
    const tail = before.then(() => turn.promise)
    this.#tails.set(key, tail)
    await before
    try {
      return await work()
    } finally {
      turn.resolve()
      if (this.#tails.get(key) === tail) this.#tails.delete(key)
    }
  }

  /** Resolves when all earlier work has settled. */
  async settled(): Promise<void> {
    await Promise.all(this.#tails.values())
  }
}
