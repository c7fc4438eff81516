/** More requests than this at once on one connection are a flood. */
const waitingMax = 100

/** Runs one thing after another. */
export class Turns {
  #last: Promise<void> = Promise.resolve()
  #waiting = 0

  /**
   * Runs `work` when all before it is done. Rejects as it does, and at once when too much waits.
   */
  async run(work: () => Promise<void>): Promise<void> {
    if (this.#waiting >= waitingMax) throw new Error('too many requests wait')
    this.#waiting += 1
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {}) // Whoever asked for the turn sees it.
    try {
      await turn
    } finally {
      this.#waiting -= 1
    }
  }
}
