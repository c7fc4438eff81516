import { HoltApiError, HoltConnectionError } from '../errors/errors.ts'
import { asConnectionError } from './connected.ts'
import { backoffMs, sleep } from './retry.ts'

/**
 * An interrupted transfer. It decides for how long the transfer is retried. That time restarts
 * whenever data has arrived.
 */
export class Broken {
  readonly #resumeTimeoutMs: number
  readonly #signal: AbortSignal | undefined
  #breaks = 0
  #sinceMs = 0

  constructor(resumeTimeoutMs: number, signal: AbortSignal | undefined) {
    this.#resumeTimeoutMs = resumeTimeoutMs
    this.#signal = signal
  }

  /** Records that data has arrived. */
  mended(): void {
    this.#breaks = 0
  }

  /** Waits before the next try. Throws the failure if there is no next try. */
  async pause(failure: unknown): Promise<void> {
    this.#signal?.throwIfAborted()
    const nowMs = performance.now()
    if (this.#breaks === 0) this.#sinceMs = nowMs
    this.#breaks += 1
    if (!isInterruption(failure) || nowMs - this.#sinceMs > this.#resumeTimeoutMs)
      throw asConnectionError(failure, 'The transfer was interrupted')
    await sleep(backoffMs(this.#breaks), this.#signal)
  }
}

/**
 * Returns true for an interruption. A body breaks with a TypeError of fetch. A service that
 * restarts refuses connections, or returns 503.
 */
function isInterruption(failure: unknown): boolean {
  if (failure instanceof HoltApiError) return failure.httpStatus === 503
  if (failure instanceof HoltConnectionError) return failure.reason !== 'timeout'
  return failure instanceof TypeError
}
