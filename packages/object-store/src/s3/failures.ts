import type { IncomingHttpHeaders } from 'node:http'
import { ObjectStoreError, type ObjectStoreErrorKind } from '../contract/object-store-error.ts'
import { tagOf } from './xml.ts'

/** Codes of S3 that say more than the status. */
const kindOfCode: Readonly<Record<string, ObjectStoreErrorKind>> = {
  NoSuchBucket: 'refused',
  ConditionalRequestConflict: 'unavailable',
  OperationAborted: 'unavailable',
  RequestTimeout: 'unavailable',
  RequestTimeTooSkewed: 'unavailable',
  IncompleteBody: 'unavailable',
  SlowDown: 'unavailable',
  InternalError: 'unavailable',
  BadDigest: 'damaged',
  InvalidDigest: 'damaged',
  XAmzContentSHA256Mismatch: 'damaged',
  XAmzContentChecksumMismatch: 'damaged',
  EntityTooLarge: 'full',
  QuotaExceeded: 'full',
  XMinioStorageFull: 'full',
}

const kindOfStatus: Readonly<Record<number, ObjectStoreErrorKind>> = {
  404: 'not_found',
  408: 'unavailable',
  409: 'unavailable',
  412: 'precondition_failed',
  413: 'full',
  416: 'invalid',
  429: 'unavailable',
  507: 'full',
}

/** The parts of an answer that explain a failure. */
export interface FailedAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The body: XML with a code and a message, or nothing. */
  readonly text: string
}

/** Returns the error of an answer that is no success. `what` names the request. */
export function failureOf(what: string, { status, headers, text }: FailedAnswer): ObjectStoreError {
  const code = tagOf(text, 'Code') ?? ''
  const kind = kindOfCode[code] ?? kindOfStatus[status] ?? (status >= 500 ? 'unavailable' : 'refused')
  const why = [code, tagOf(text, 'Message')].filter((part) => part !== null && part !== '').join(': ')
  return new ObjectStoreError(
    kind,
    `${what}: the object store answered ${status}${why === '' ? '' : ` ${why.slice(0, 300)}`}`,
    { retryAfterMs: secondsOf(headers['retry-after']) },
  )
}

function secondsOf(retryAfter: string | undefined): number | null {
  return retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1000 : null
}
