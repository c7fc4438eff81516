/** Runs one thing at a time for each key, in the order of asking. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>()

  /** Runs `work` after everything asked before for the same key has settled. */
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

  /** Resolves when all that has been asked for so far has settled. */
  async settled(): Promise<void> {
    await Promise.all(this.#tails.values())
  }
}
