/**
 * Those who wait for one thing. Whoever waits no longer is forgotten at once: a promise keeps all
 * that have ever waited for it, and with why they left whatever they were for.
 */
export class Waiters {
  readonly #waiting = new Set<PromiseWithResolvers<void>>()

  /**
   * Resolves or rejects with the others, or rejects with the reason of a signal that ends first.
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
   * Tells all who wait when work ends what became of it. The work goes on when nobody waits, and
   * keeps nothing of those who have left.
   */
  follow(work: Promise<unknown>): void {
    work.then(
      () => this.resolve(),
      (error: unknown) => this.reject(error),
    )
  }

  /** Tells all who wait now that it is there. */
  resolve(): void {
    for (const { resolve } of this.#waiting) resolve()
  }

  /** Tells all who wait now that it does not come. */
  reject(reason: unknown): void {
    for (const { reject } of this.#waiting) reject(reason)
  }
}
