import { BuildError } from '../errors.ts'
import { Pace } from '../pace.ts'

/**
 * The maximum number of steps of all COPY, ADD and mounts of one build in its context. A step takes
 * a few nanoseconds: it compares one place of a pattern with one character. A COPY of the largest
 * context (`contextLimits`) takes about ten million steps, and eighty million with a hundred plain
 * `--exclude`.
 */
export const MAX_SEARCH_STEPS = 100_000_000

/** The number of steps between two readings of the clock. */
const stepsPerLook = 2048

/** Bounds the searches of one build in its context, and decides when they rest. */
export class SearchAccount {
  readonly #limit: number
  readonly #pace = new Pace()
  #steps = 0
  #lookAt = 0

  constructor(limit: number = MAX_SEARCH_STEPS) {
    this.#limit = limit
  }

  get steps(): number {
    return this.#steps
  }

  /**
   * Charges steps. Throws `BuildError` `step_failed` if fewer are left, and on every later charge.
   */
  readonly spend = (steps: number): void => {
    this.#steps += steps
    if (this.#steps <= this.#limit) return
    throw new BuildError(
      'step_failed',
      `The steps of this build look at too many names of the context: their patterns take more than ${this.#limit} steps.`,
      {
        hint: 'Copy directories as a whole, use fewer patterns and stars, or send fewer files.',
        details: { limit: this.#limit },
      },
    )
  }

  /** True if the search should yield to the event loop. */
  get isDue(): boolean {
    if (this.#steps < this.#lookAt) return false
    this.#lookAt = this.#steps + stepsPerLook
    return this.#pace.isDue
  }

  /**
   * Runs work that yields when it should rest, and rests at each yield. Rejects with the signal's
   * reason once aborted.
   */
  async finish<Result>(work: Generator<void, Result>, signal?: AbortSignal): Promise<Result> {
    for (;;) {
      const { done, value } = work.next()
      if (done === true) return value
      await this.#pace.rest()
      signal?.throwIfAborted()
    }
  }
}
