/** The pause before what failed is tried again, and the longest that it grows to. */
const firstPauseMs = 5_000
const maxPauseMs = 300_000

/** An action on a runtime. */
export interface Undertaking {
  readonly id: string
  readonly what: string
}

interface Attempt {
  readonly id: string
  busy: boolean
  pauseMs: number
  notBefore: number
}

/** Has one thing done to a runtime at a time, and what fails done again after pauses that grow. */
export class Attempts {
  readonly #attempts = new Map<string, Attempt>()
  readonly #monotonic: () => number

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /**
   * Begins `work` unless it is under way or has failed a moment ago. Never rejects, and nobody
   * waits.
   */
  begin({ id, what }: Undertaking, work: () => Promise<unknown>, failed: (error: unknown) => void): void {
    const key = `${id} ${what}`
    const attempt = this.#attempts.get(key) ?? { id, busy: false, pauseMs: firstPauseMs, notBefore: 0 }
    if (attempt.busy || this.#monotonic() < attempt.notBefore) return
    attempt.busy = true
    this.#attempts.set(key, attempt)
    work().then(
      () => this.#attempts.delete(key),
      (error: unknown) => {
        attempt.busy = false
        attempt.notBefore = this.#monotonic() + attempt.pauseMs
        attempt.pauseMs = Math.min(2 * attempt.pauseMs, maxPauseMs)
        failed(error)
      },
    )
  }

  /** Forgets what failed of all runtimes but these. */
  keep(ids: ReadonlySet<string>): void {
    for (const [key, { id, busy }] of this.#attempts) if (!busy && !ids.has(id)) this.#attempts.delete(key)
  }
}
