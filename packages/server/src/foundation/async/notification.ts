/** A notification for one waiter. It stays set until the waiter has seen it. */
export class Notification {
  #isSet = false
  #wake: () => void = () => {}

  notify(): void {
    this.#isSet = true
    this.#wake()
  }

  /** Waits for the notification, at most `ms` milliseconds, and clears it. */
  async wait(ms: number): Promise<void> {
    if (!this.#isSet) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      const timer = setTimeout(resolve, ms)
      await promise
      clearTimeout(timer)
    }
    this.#isSet = false
  }
}
