/** Work of which no two pieces go on at the same time; whoever came first has the first turn. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve()

  /**
   * Waits for its turn, which lasts until it is disposed. Rejects with the signal's reason, and
   * then takes none.
   */
  async turn(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted()
    const before = this.#last
    const { promise: over, resolve: end } = Promise.withResolvers<void>()
    this.#last = before.then(() => over)
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      await Promise.race([before, aborted])
      return { [Symbol.dispose]: end }
    } catch (error) {
      end()
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }
}
