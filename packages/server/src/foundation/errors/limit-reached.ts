import { HoltError } from '@holt/protocol'

/**
 * The error codes of limits. A rate frees itself with time or when others finish. A quota needs
 * something to be removed first.
 */
type LimitCode = 'rate_limited' | 'quota_exceeded'

/**
 * The wait of a client if no time is known, in seconds. A place that others have is soon free, and
 * a quota seldom frees itself.
 */
const usualWaitSecs: Readonly<Record<LimitCode, number>> = { rate_limited: 1, quota_exceeded: 60 }

/** The facts of a limit. All but the hint are in the error's `details`. */
interface Limit {
  /** The limit itself, in the unit of the counted thing. */
  readonly limit: number
  /** The used amount. Absent: all. */
  readonly used?: number
  /** The name of the quota, if it is one of the project. */
  readonly quota?: string
  readonly retry_after_secs?: number
  /** The time until all of it is free again, in seconds, if it fills with time. */
  readonly reset_secs?: number
  readonly hint?: string
}

/**
 * Returns the error of a limit. All such errors are made here, so that each has the numbers for
 * `limitHeaders`.
 */
export function limitReached(code: LimitCode, message: string, { hint, ...details }: Limit): HoltError {
  return new HoltError(code, message, { details, ...(hint === undefined ? {} : { hint }) })
}

/**
 * Returns the headers of an error with 429: `Retry-After`, and `RateLimit-Limit`, `-Remaining` and
 * `-Reset` of the limit
 * (https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-06).
 */
export function limitHeaders({ code, details = {} }: HoltError): Record<string, string> {
  const limit = finite(details.limit)
  const used = finite(details.used) ?? limit
  const wait = finite(details.retry_after_secs) ?? usualWaitSecs[code as LimitCode] ?? 1
  const reset = finite(details.reset_secs) ?? wait
  const retryAfter = { 'retry-after': `${wait}` }
  if (limit === null || used === null) return retryAfter
  return {
    ...retryAfter,
    'ratelimit-limit': `${Math.floor(limit)}`,
    'ratelimit-remaining': `${Math.max(0, Math.floor(limit - used))}`,
    'ratelimit-reset': `${reset}`,
  }
}

/**
 * Returns a fact of an error as a finite number for a header. Returns null if it is none, because
 * an error's facts may be anything.
 */
export function finite(fact: unknown): number | null {
  return typeof fact === 'number' && Number.isFinite(fact) ? fact : null
}
