/** A flag that is set by `come` and cleared by `wait`. */
export class News {
  #has = false
  #wake: () => void = () => {}

  come(): void {
    this.#has = true
    this.#wake()
  }

  /** Waits until the flag is set, at most `ms` milliseconds. */
  async wait(ms: number): Promise<void> {
    if (!this.#has) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      const timer = setTimeout(resolve, ms)
      await promise
      clearTimeout(timer)
    }
    this.#has = false
  }
}
