import { buildToWaitFor } from '../errors/build-to-wait-for.ts'
import { HoltApiError, HoltConnectionError } from '../errors/errors.ts'

/** The facts about a request that failed. */
export interface FailedTry {
  readonly method: string
  readonly error: unknown
  /** The number of tries so far, at least 1. */
  readonly tries: number
  readonly maxRetries: number
  /**
   * True if the service recognises a repetition, by its Idempotency-Key or because the request asks
   * for a state.
   */
  readonly keyed: boolean
  /** True if the caller itself finds out what arrived, and sends the rest. */
  readonly resumes?: boolean
  /** False if the body is gone after the first try. */
  readonly repeatable: boolean
  /** The time left to wait for an answer, in milliseconds. */
  readonly timeLeftMs: number
}

const firstDelayMs = 100
const longestDelayMs = 5_000
/**
 * The longest `Retry-After` that the client waits for. A longer one is an error for the caller, who
 * can plan for it.
 */
const longestRetryAfterMs = 60_000
const idempotentMethods: readonly string[] = ['GET', 'PUT', 'DELETE']

/**
 * Returns the delay before a request is sent again, in milliseconds, or null for no retry.
 *
 * A request that the service refused before doing anything may always be sent again. These are 429,
 * 503 with `Retry-After`, and a refused connection. A template that could not be made is an
 * exception, because waiting cannot help. So is a stored change that a host has not applied. A
 * request that may have been done is sent again only if a repetition has no further effect. A first
 * request that still runs is no failure: its answer is requested until the time limit of the
 * request.
 */
export function retryDelayMs(failed: FailedTry, random: () => number = Math.random): number | null {
  const { error } = failed
  if (isUnderWay(error)) return failed.timeLeftMs > 0 ? backoffMs(failed.tries, random) : null
  if (failed.tries > failed.maxRetries || !failed.repeatable) return null
  const isIdempotent = failed.resumes !== true && idempotentMethods.includes(failed.method)
  const twiceIsOnce = failed.keyed || isIdempotent
  if (error instanceof HoltConnectionError) {
    if (error.reason === 'timeout') return null
    return error.reason === 'refused' || twiceIsOnce ? backoffMs(failed.tries, random) : null
  }
  if (!(error instanceof HoltApiError)) return null
  // A build takes longer than a client should sleep. The caller waits for its end instead.
  if (!isTemporary(error, twiceIsOnce) || buildToWaitFor(error) !== null) return null
  if (error.retryAfterSecs === null) return backoffMs(failed.tries, random)
  if (error.retryAfterSecs * 1000 > longestRetryAfterMs) return null
  return error.retryAfterSecs * 1000 + firstDelayMs * random()
}

/**
 * Returns a delay that doubles from 100 ms to 5 s. Its upper half is random, so that many clients
 * do not return at once.
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
  // A wait changes neither a quota nor a template that could not be made.
  if (error.wireCode === 'quota_exceeded' || error.details?.template_state === 'failed') return false
  // The change is stored, and the service has waited for its hosts already.
  if (error.details?.reason === 'not_in_force') return false
  if (error.httpStatus === 429) return true
  return error.httpStatus === 503 && (twiceIsOnce || error.retryAfterSecs !== null)
}

/** Returns true if the first request of this Idempotency-Key still runs. */
export function isUnderWay(error: unknown): boolean {
  return error instanceof HoltApiError && error.wireCode === 'idempotency_in_progress'
}
