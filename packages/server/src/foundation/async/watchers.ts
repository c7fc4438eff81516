/** The callbacks that wait for news, by id. */
export class Watchers {
  readonly #waiting = new Map<string, Set<() => void>>()

  /** Calls `onNews` whenever there is news of an id, until the result is disposed of. */
  watch(id: string, onNews: () => void): Disposable {
    const waiting = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, waiting.add(onNews))
    return {
      [Symbol.dispose]: () => {
        waiting.delete(onNews)
        if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id)
      },
    }
  }

  /** Calls all callbacks of an id. */
  tell(id: string): void {
    for (const tell of this.#waiting.get(id) ?? []) tell()
  }
}
