import { setTimeout as pause } from 'node:timers/promises'
import { ObjectStoreError } from '../contract/object-store-error.ts'

/** The bounds of retries. Both end them. */
export interface RetryPolicy {
  readonly attempts: number
  /** The longest time after which another attempt begins. */
  readonly withinMs: number
  readonly firstPauseMs: number
  readonly longestPauseMs: number
}

export const usualRetries: RetryPolicy = {
  attempts: 6,
  withinMs: 30_000,
  firstPauseMs: 100,
  longestPauseMs: 5_000,
}

/**
 * Returns true for a failure that another attempt may not have: the store was away, or bytes were
 * damaged on the way to it.
 */
export function isPassing(error: unknown): error is ObjectStoreError {
  return error instanceof ObjectStoreError && (error.kind === 'unavailable' || error.kind === 'damaged')
}

/** Runs a call again while it fails in passing. `attempt` counts from 1. */
export async function withRetries<Result>(
  run: (attempt: number) => Promise<Result>,
  { policy, signal }: { readonly policy: RetryPolicy; readonly signal: AbortSignal | undefined },
): Promise<Result> {
  const begun = performance.now()
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run(attempt)
    } catch (error) {
      signal?.throwIfAborted()
      if (!isPassing(error) || attempt >= policy.attempts) throw error
      const pauseMs = pauseAfter(attempt, policy, error.retryAfterMs)
      if (performance.now() - begun + pauseMs > policy.withinMs) throw error
      await pauseFor(pauseMs, signal)
    }
  }
}

/** Waits before another attempt. The part by chance keeps many clients from coming back at once. */
export async function pauseFor(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await pause(pauseMs, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}

/**
 * Returns the pause after a failed attempt: exponential with full jitter, or as long as the store
 * asks.
 */
export function pauseAfter(attempt: number, policy: RetryPolicy, retryAfterMs: number | null): number {
  const most = Math.min(policy.longestPauseMs, policy.firstPauseMs * 2 ** (attempt - 1))
  return Math.max(Math.random() * most, Math.min(retryAfterMs ?? 0, policy.longestPauseMs))
}
