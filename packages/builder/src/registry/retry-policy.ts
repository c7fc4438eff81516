import { setTimeout as sleep } from 'node:timers/promises'
import { TransferError } from './transfer-error.ts'

/** The timeouts and retries for servers. */
export interface RetryPolicy {
  /** The maximum number of attempts for one request. */
  readonly attempts: number
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  /**
   * The maximum `Retry-After`, in milliseconds. With a longer one the build fails and reports it.
   */
  readonly maxRetryAfterMs: number
  /** The time from the request to the head of its answer, in milliseconds. */
  readonly headTimeoutMs: number
  /** The time of waiting for a body, in milliseconds, in which it has to bring `minWindowBytes`. */
  readonly windowMs: number
  readonly minWindowBytes: number
}

/**
 * The default timeouts. An overloaded registry recovers within seconds. A registry that is down
 * does not recover within a minute.
 */
export const defaultRetryPolicy: RetryPolicy = {
  attempts: 5,
  firstDelayMs: 500,
  maxDelayMs: 8_000,
  maxRetryAfterMs: 60_000,
  headTimeoutMs: 30_000,
  windowMs: 30_000,
  minWindowBytes: 16 * 1024,
}

/** Retries while the failure may be temporary. */
export async function retried<Result>(
  retryPolicy: RetryPolicy,
  signal: AbortSignal,
  once: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await once()
    } catch (error) {
      await waitToRetry(error, { retryPolicy, attempt, signal })
    }
  }
}

/**
 * Waits before the next attempt, with full jitter. Throws the error if it is permanent, asks for
 * too long a wait, or ends the last attempt.
 */
export async function waitToRetry(
  error: unknown,
  { retryPolicy, attempt, signal }: { retryPolicy: RetryPolicy; attempt: number; signal: AbortSignal },
): Promise<void> {
  signal.throwIfAborted()
  if (!(error instanceof TransferError) || !error.isTransient || attempt >= retryPolicy.attempts) throw error
  const asked = error.retryAfterMs ?? 0
  if (asked > retryPolicy.maxRetryAfterMs) throw error
  const ceiling = Math.min(retryPolicy.maxDelayMs, retryPolicy.firstDelayMs * 2 ** (attempt - 1))
  await sleep(asked + Math.random() * ceiling, undefined, { signal }).catch(() => signal.throwIfAborted())
}

/**
 * Reads `Retry-After` (RFC 9110, 10.2.3): seconds or a date. Returns milliseconds, or null for any
 * other text.
 */
export function readRetryAfter(value: string | undefined, now: number): number | null {
  if (value === undefined) return null
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const date = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}
