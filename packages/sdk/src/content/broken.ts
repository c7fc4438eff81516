import { asConnectionError } from '../connected.ts'
import { HoltApiError, HoltConnectionError } from '../errors.ts'
import { backoffMs, sleep } from '../retry.ts'

/**
 * A transfer that is interrupted: decides how long it is tried to go on, which begins anew whenever
 * something has come through.
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

  /** Something has come through. */
  mended(): void {
    this.#breaks = 0
  }

  /** Waits before the next try. Throws the failure where there is to be none. */
  async pause(failure: unknown): Promise<void> {
    this.#signal?.throwIfAborted()
    const nowMs = performance.now()
    if (this.#breaks === 0) this.#sinceMs = nowMs
    this.#breaks += 1
    if (!isInterruption(failure) || nowMs - this.#sinceMs > this.#resumeTimeoutMs)
      throw asConnectionError(failure, 'The transfer broke off')
    await sleep(backoffMs(this.#breaks), this.#signal)
  }
}

/**
 * A body breaks with a TypeError of fetch; a service that starts again refuses connections, or says
 * 503.
 */
function isInterruption(failure: unknown): boolean {
  if (failure instanceof HoltApiError) return failure.httpStatus === 503
  if (failure instanceof HoltConnectionError) return failure.reason !== 'timeout'
  return failure instanceof TypeError
}
