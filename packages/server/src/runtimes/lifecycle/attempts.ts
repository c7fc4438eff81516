/** The first and the maximum delay before a retry, in milliseconds. */
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

/** Runs one action on a runtime at a time, and delays retries after failures. The delays grow. */
export class Attempts {
  readonly #attempts = new Map<string, Attempt>()
  readonly #monotonic: () => number

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /**
   * Starts `work`, unless it is in progress or has just failed. Does not wait, and never rejects.
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

  /** Forgets the failures of all other runtimes. */
  keep(ids: ReadonlySet<string>): void {
    for (const [key, { id, busy }] of this.#attempts) if (!busy && !ids.has(id)) this.#attempts.delete(key)
  }
}
