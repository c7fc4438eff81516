/** Something may have come since it was looked for last. */
export class News {
  #has = false
  #wake: () => void = () => {}

  come(): void {
    this.#has = true
    this.#wake()
  }

  /** Waits for news, for so long at the most. */
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
