/** The maximum number of waiting requests on one connection. More are a flood. */
const waitingMax = 100

/** Runs one work after another. */
export class SerialQueue {
  #last: Promise<void> = Promise.resolve()
  #waiting = 0

  /** Runs `work` after all earlier work. Rejects if `work` does, and at once if too many wait. */
  async run(work: () => Promise<void>): Promise<void> {
    if (this.#waiting >= waitingMax) throw new Error('too many requests wait')
    this.#waiting += 1
    const running = this.#last.then(work)
    this.#last = running.catch(() => {}) // The caller of `run` gets the error.
    try {
      await running
    } finally {
      this.#waiting -= 1
    }
  }
}
