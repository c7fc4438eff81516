import { setTimeout as pause } from 'node:timers/promises'
import { limitReached } from '../../foundation/errors/limit-reached.ts'

/** The attachments that a project may make at once, and the interval of further ones. */
const usual = { burst: 64, everyMs: 50 }

/** The longest wait. A longer one is refused. */
const maxWaitMs = 10_000

/** The number of projects above which those without a wait are removed. */
const maxProjects = 1_000

/**
 * A rate limit for the attachments of a project. Each attachment requests the command and its
 * output from the runtime, which costs the service more than the client.
 */
export class AttachPace {
  readonly #rate: typeof usual
  /**
   * The time at which each project's bucket is full again (`performance.now`): the generic cell
   * rate algorithm.
   */
  readonly #fullAt = new Map<string, number>()

  constructor(rate = usual) {
    this.#rate = rate
  }

  /**
   * Waits until the project may attach once more. Throws `rate_limited` if that takes too long, and
   * the signal's reason if it is aborted.
   */
  async wait(projectId: string, signal: AbortSignal): Promise<void> {
    const { burst, everyMs } = this.#rate
    const now = performance.now()
    const fullAt = Math.max(now, this.#fullAt.get(projectId) ?? now) + everyMs
    const waitMs = fullAt - now - burst * everyMs
    if (waitMs > maxWaitMs)
      throw limitReached('rate_limited', 'The project opens attachments too often.', {
        limit: burst,
        retry_after_secs: Math.ceil(waitMs / 1000),
      })
    this.#keep(projectId, fullAt)
    if (waitMs > 0) await pause(waitMs, undefined, { signal })
  }

  #keep(projectId: string, fullAt: number): void {
    this.#fullAt.set(projectId, fullAt)
    if (this.#fullAt.size <= maxProjects) return
    const now = performance.now()
    for (const [other, at] of this.#fullAt) if (at <= now) this.#fullAt.delete(other)
  }
}
