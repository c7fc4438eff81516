/** Who waits for news of what, by id. */
export class Watchers {
  readonly #waiting = new Map<string, Set<() => void>>()

  /** Calls `onNews` whenever there is something new of an id, until it is disposed of. */
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

  /** Tells all who watch an id. */
  tell(id: string): void {
    for (const tell of this.#waiting.get(id) ?? []) tell()
  }
}
