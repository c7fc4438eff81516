import { setTimeout as sleep } from 'node:timers/promises'
import { TransferError } from './transfer-error.ts'

/** How long servers are waited for, and how often they are asked again. */
export interface Patience {
  /** How often one thing is asked for before it is given up. */
  readonly attempts: number
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  /** A `Retry-After` beyond this is not waited for: the build fails and says so. */
  readonly maxRetryAfterMs: number
  /** From the request to the head of its answer. */
  readonly headTimeoutMs: number
  /** A body has to bring `minWindowBytes` in each such time of waiting for it. */
  readonly windowMs: number
  readonly minWindowBytes: number
}

/**
 * Registries that are overloaded recover within seconds; those that are down do not within a
 * minute.
 */
export const defaultPatience: Patience = {
  attempts: 5,
  firstDelayMs: 500,
  maxDelayMs: 8_000,
  maxRetryAfterMs: 60_000,
  headTimeoutMs: 30_000,
  windowMs: 30_000,
  minWindowBytes: 16 * 1024,
}

/** Does something again while it fails for a reason that may pass. */
export async function retried<Result>(
  patience: Patience,
  signal: AbortSignal,
  once: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await once()
    } catch (error) {
      await waitToRetry(error, { patience, attempt, signal })
    }
  }
}

/**
 * Waits before the next attempt, with full jitter; throws the error where there is none: it will
 * not pass, or was the last.
 */
export async function waitToRetry(
  error: unknown,
  { patience, attempt, signal }: { patience: Patience; attempt: number; signal: AbortSignal },
): Promise<void> {
  signal.throwIfAborted()
  if (!(error instanceof TransferError) || !error.isTransient || attempt >= patience.attempts) throw error
  const asked = error.retryAfterMs ?? 0
  if (asked > patience.maxRetryAfterMs) throw error
  const ceiling = Math.min(patience.maxDelayMs, patience.firstDelayMs * 2 ** (attempt - 1))
  await sleep(asked + Math.random() * ceiling, undefined, { signal }).catch(() => signal.throwIfAborted())
}

/** Reads `Retry-After` (RFC 9110, 10.2.3): seconds or a date. Null for anything else. */
export function readRetryAfter(value: string | undefined, now: number): number | null {
  if (value === undefined) return null
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const date = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}
