import { setImmediate } from 'node:timers/promises'

/**
 * Time that work takes before it yields, in milliseconds. A delay this short is not noticeable to
 * other work of the event loop.
 */
const stretchMs = 5

/** Paces work that is long as a whole, so that everything else in the process goes on beside it. */
export class Pace {
  #since = performance.now()

  /** True where the work has gone on for long enough, and should `rest`. */
  get isDue(): boolean {
    return performance.now() - this.#since >= stretchMs
  }

  /** Lets all that waits in the event loop go first. */
  async rest(): Promise<void> {
    await setImmediate()
    this.#since = performance.now()
  }

  /** Rests where it is due. */
  async restIfDue(): Promise<void> {
    if (this.isDue) await this.rest()
  }
}
