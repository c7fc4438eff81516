import type { IncomingHttpHeaders } from 'node:http'
import { etagForm, HoltError } from '@holt/protocol'
import { invalidField } from './field-issues.ts'

/** Reads the header `If-Match`: `*`, or one strong etag. Undefined if there is none. */
export function ifMatchOf({ 'if-match': match }: IncomingHttpHeaders): string | undefined {
  if (match !== undefined && match !== '*' && !etagForm.test(match))
    throw invalidField('/header/If-Match', 'must be * or one strong etag, as answers have it')
  return match
}

/** Returns the etag of the version with a number. */
export function etagOf(version: number): string {
  return `"${version}"`
}

/**
 * Throws `precondition_failed` if a request is for another version than the present one. `what`
 * begins the message, such as `The policy web`.
 */
export function requireMatch(match: string | undefined, { etag, what }: { etag: string; what: string }): void {
  if (match === undefined || match === '*' || match === etag) return
  throw new HoltError('precondition_failed', `${what} has changed: it has the etag ${etag}, not ${match}.`)
}
