/**
 * The open connections of E2B's clients to each runtime: streams, terminals, transfers of files,
 * and visits to ports. They are cut when the runtime pauses or ends, before that is answered. Their
 * clients tell by the cut that the runtime is gone.
 */
export class OpenVisits {
  readonly #visits = new Map<string, Set<() => void>>()

  /** The number of open connections. */
  get size(): number {
    return [...this.#visits.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Adds a connection. `cut` resets it. Returns the function that removes it. */
  enter(runtimeId: string, cut: () => void): () => void {
    const visits = this.#visits.get(runtimeId) ?? new Set()
    this.#visits.set(runtimeId, visits.add(cut))
    return () => {
      visits.delete(cut)
      if (visits.size === 0 && this.#visits.get(runtimeId) === visits) this.#visits.delete(runtimeId)
    }
  }

  /** Cuts the connections of a runtime. */
  cut(runtimeId: string): void {
    for (const cut of [...(this.#visits.get(runtimeId) ?? [])]) cut()
  }

  /** Cuts all connections. */
  close(): void {
    for (const runtimeId of [...this.#visits.keys()]) this.cut(runtimeId)
  }
}
