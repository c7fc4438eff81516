import { setImmediate } from 'node:timers/promises'

/**
 * The time that work takes before it yields, in milliseconds. A delay this short is not noticeable
 * to other work of the event loop.
 */
const stretchMs = 5

/** Paces long work so that everything else in the process continues beside it. */
export class Pace {
  #since = performance.now()

  /** True if the work has run long enough and should `rest`. */
  get isDue(): boolean {
    return performance.now() - this.#since >= stretchMs
  }

  /** Yields to the event loop. */
  async rest(): Promise<void> {
    await setImmediate()
    this.#since = performance.now()
  }

  /** Rests if it is due. */
  async restIfDue(): Promise<void> {
    if (this.isDue) await this.rest()
  }
}
