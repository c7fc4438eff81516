import { HoltApiError, HoltConnectionError } from './errors.ts'
import { buildToWaitFor } from './template/build-to-wait-for.ts'

/** What is known of a request that failed. */
export interface FailedTry {
  readonly method: string
  readonly error: unknown
  /** Tries made so far, at least 1. */
  readonly tries: number
  readonly maxRetries: number
  /**
   * True where the service recognises a repetition: by its Idempotency-Key, or as it is asked for a
   * state and not for a thing.
   */
  readonly keyed: boolean
  /** False where the body is gone after the first try. */
  readonly repeatable: boolean
  /** How long an answer may still be waited for. */
  readonly timeLeftMs: number
}

const firstDelayMs = 100
const longestDelayMs = 5_000
/** A service that asks for more than this is told to the caller, who can plan for it. */
const longestRetryAfterMs = 60_000
const idempotentMethods: readonly string[] = ['GET', 'PUT', 'DELETE']

/**
 * Decides whether a request is sent again: after how many milliseconds, or null for never.
 *
 * What the service refused before doing anything (429; 503 with `Retry-After`; a refused
 * connection) may always be sent again, unless waiting cannot help: a template that could not be
 * made stays so. What may have been done is sent again only where doing it twice is the same as
 * once. A first request that still runs is no failure: its answer is asked for as long as the
 * request may take.
 */
export function retryDelayMs(failed: FailedTry, random: () => number = Math.random): number | null {
  const { error } = failed
  if (isUnderWay(error)) return failed.timeLeftMs > 0 ? backoffMs(failed.tries, random) : null
  if (failed.tries > failed.maxRetries || !failed.repeatable) return null
  const twiceIsOnce = failed.keyed || idempotentMethods.includes(failed.method)
  if (error instanceof HoltConnectionError) {
    if (error.reason === 'timeout') return null
    return error.reason === 'refused' || twiceIsOnce ? backoffMs(failed.tries, random) : null
  }
  if (!(error instanceof HoltApiError)) return null
  // A build takes longer than a client should sleep: who sent the request waits for its end.
  if (!isTemporary(error, twiceIsOnce) || buildToWaitFor(error) !== null) return null
  if (error.retryAfterSecs === null) return backoffMs(failed.tries, random)
  if (error.retryAfterSecs * 1000 > longestRetryAfterMs) return null
  return error.retryAfterSecs * 1000 + firstDelayMs * random()
}

/**
 * Doubles from 100 ms to 5 s, with the upper half random, so that many clients do not come back
 * together.
 */
export function backoffMs(tries: number, random: () => number = Math.random): number {
  const full = Math.min(longestDelayMs, firstDelayMs * 2 ** (tries - 1))
  return full / 2 + (full / 2) * random()
}

/** Waits, and throws the signal's reason as soon as it is aborted. */
export async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

function isTemporary(error: HoltApiError, twiceIsOnce: boolean): boolean {
  // Neither a quota nor a template that could not be made changes while a client waits.
  if (error.wireCode === 'quota_exceeded' || error.details?.template_state === 'failed') return false
  if (error.httpStatus === 429) return true
  return error.httpStatus === 503 && (twiceIsOnce || error.retryAfterSecs !== null)
}

function isUnderWay(error: unknown): boolean {
  return error instanceof HoltApiError && error.wireCode === 'idempotency_in_progress'
}
