/** A lock that is granted in the order of the requests. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve()

  /**
   * Waits for the turn, which lasts until it is disposed. Rejects with the signal's reason once
   * aborted, and then takes no turn.
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
