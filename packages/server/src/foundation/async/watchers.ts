/** The callbacks that are called when something has changed, by id. */
export class Watchers {
  readonly #callbacks = new Map<string, Set<() => void>>()

  /** Calls `onChange` on each notification of an id, until the result is disposed of. */
  watch(id: string, onChange: () => void): Disposable {
    const callbacks = this.#callbacks.get(id) ?? new Set()
    this.#callbacks.set(id, callbacks.add(onChange))
    return {
      [Symbol.dispose]: () => {
        callbacks.delete(onChange)
        if (callbacks.size === 0 && this.#callbacks.get(id) === callbacks) this.#callbacks.delete(id)
      },
    }
  }

  /** The ids that are watched. */
  get ids(): readonly string[] {
    return [...this.#callbacks.keys()]
  }

  /** Calls all callbacks of an id. */
  notify(id: string): void {
    for (const callback of this.#callbacks.get(id) ?? []) callback()
  }
}
