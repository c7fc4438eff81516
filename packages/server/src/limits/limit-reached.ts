import { HoltError } from '@holt/protocol'

/**
 * The codes of limits: one that time or others make room in, and one for which something has to be
 * given up first.
 */
type LimitCode = 'rate_limited' | 'quota_exceeded'

/**
 * When a client comes again that is told no time: a place that others have is soon free, and what a
 * quota counts seldom goes by itself.
 */
const usualWaitSecs: Readonly<Record<LimitCode, number>> = { rate_limited: 1, quota_exceeded: 60 }

/** What is known of a limit. All of it but the hint is in the error's `details`. */
interface Limit {
  /** Its number, in whatever it counts. */
  readonly limit: number
  /** What is taken of it; absent: all. */
  readonly used?: number
  /** Its name, where it is a quota of the project. */
  readonly quota?: string
  readonly retry_after_secs?: number
  /** When all of it is there again, where it fills with time. */
  readonly reset_secs?: number
  readonly hint?: string
}

/**
 * The error of a limit that refuses. Each is made here, so that each has a number for
 * `limitHeaders`.
 */
export function limitReached(code: LimitCode, message: string, { hint, ...details }: Limit): HoltError {
  return new HoltError(code, message, { details, ...(hint === undefined ? {} : { hint }) })
}

/**
 * The headers of an error with 429: `Retry-After`, and of the limit that refused `RateLimit-Limit`,
 * `-Remaining` and `-Reset`
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
 * A fact of an error as a number that a header can have; null where it is none: an error's facts
 * may be anything.
 */
export function finite(fact: unknown): number | null {
  return typeof fact === 'number' && Number.isFinite(fact) ? fact : null
}
