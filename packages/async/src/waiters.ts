/**
 * The callers that wait for one event. A caller that stops waiting is forgotten at once. A promise
 * would keep every past caller in memory, with the reason of its AbortSignal.
 */
export class Waiters {
  readonly #waiting = new Set<PromiseWithResolvers<void>>()

  /**
   * Resolves or rejects with the other waiters. Rejects with the signal's reason if that ends
   * first.
   */
  async wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const mine = Promise.withResolvers<void>()
    const leave = () => mine.reject(signal.reason)
    this.#waiting.add(mine)
    signal.addEventListener('abort', leave, { once: true })
    try {
      await mine.promise
    } finally {
      this.#waiting.delete(mine)
      signal.removeEventListener('abort', leave)
    }
  }

  /**
   * Settles all waiters with the outcome of `work`. The work continues without waiters, and keeps
   * no reference to those that left.
   */
  follow(work: Promise<unknown>): void {
    work.then(
      () => this.resolve(),
      (error: unknown) => this.reject(error),
    )
  }

  /** Resolves all present waiters. */
  resolve(): void {
    for (const { resolve } of this.#waiting) resolve()
  }

  /** Rejects all present waiters. */
  reject(reason: unknown): void {
    for (const { reject } of this.#waiting) reject(reason)
  }
}
