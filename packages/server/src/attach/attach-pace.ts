import { setTimeout as pause } from 'node:timers/promises'
import { limitReached } from '../limits/limit-reached.ts'

/** The attachments that a project may make at once, and the time between those that follow. */
const usual = { burst: 64, everyMs: 50 }

/** An attachment that would wait longer is refused. */
const maxWaitMs = 10_000

/** More projects than this are gone through, and those without a wait are forgotten. */
const maxProjects = 1_000

/**
 * Delays the attachments of a project that attaches very often. Each one asks the runtime for the
 * command and its output again, which costs the service more than the client.
 */
export class AttachPace {
  readonly #rate: typeof usual
  /**
   * Per project, when its bucket is full again (`performance.now`): the generic cell rate
   * algorithm.
   */
  readonly #fullAt = new Map<string, number>()

  constructor(rate = usual) {
    this.#rate = rate
  }

  /**
   * Waits until the project may attach once more. Throws `rate_limited` if that takes too long, and
   * the signal's reason once aborted.
   */
  async wait(projectId: string, signal: AbortSignal): Promise<void> {
    const { burst, everyMs } = this.#rate
    const now = performance.now()
    const fullAt = Math.max(now, this.#fullAt.get(projectId) ?? now) + everyMs
    const waitMs = fullAt - now - burst * everyMs
    if (waitMs > maxWaitMs)
      throw limitReached('rate_limited', 'The project attaches to commands too often.', {
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
