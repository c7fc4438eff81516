import { BuildError } from '../build/contract.ts'
import { Pace } from '../pace.ts'

/**
 * Steps that all COPY, ADD and mounts of one build may take in its context. A step is a few nanoseconds: one place of a pattern against one
 * character. The largest context (`contextLimits`) is some ten million for each COPY of all of it, and a hundred plain `--exclude` make that
 * eighty million.
 */
export const MAX_SEARCH_STEPS = 100_000_000

/** So often the clock is looked at. */
const stepsPerLook = 2048

/** Bounds what one build may look for in its context, and says when that has to rest. */
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

  /** Charges steps. Throws `BuildError` `step_failed` where they are more than are left, and from then on each time. */
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

  /** True where others of the event loop are to go on first. */
  get isDue(): boolean {
    if (this.#steps < this.#lookAt) return false
    this.#lookAt = this.#steps + stepsPerLook
    return this.#pace.isDue
  }

  /** Does work that yields wherever it may rest, and rests there. Rejects with the signal's reason when it is no longer wanted. */
  async finish<Result>(work: Generator<void, Result>, signal?: AbortSignal): Promise<Result> {
    for (;;) {
      const { done, value } = work.next()
      if (done === true) return value
      await this.#pace.rest()
      signal?.throwIfAborted()
    }
  }
}
