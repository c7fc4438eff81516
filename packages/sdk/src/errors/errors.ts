import { type ErrorBody, type ErrorCode, type ErrorDetails, errorCatalogue } from '@holt/protocol'
import { type SentFields, translateHint, translateMessage } from './translate-messages.ts'

/** The reasons for a missing answer: nothing was sent, the answer was lost, or it took too long. */
export type ConnectionFailure = 'refused' | 'lost' | 'timeout'

/**
 * The codes of the errors that the client throws. They are those of the service, which a local
 * check may use as well, and those of failures outside the service.
 */
export type HoltErrorCode =
  | ErrorCode
  | `connection_${ConnectionFailure}`
  | 'build_failed'
  | 'git_failed'
  | 'local_file_error'

/** The hints of the codes that only the client has. */
const clientHints: Readonly<Record<Exclude<HoltErrorCode, ErrorCode>, string>> = {
  connection_refused: 'Start the service (holt up), or correct url or HOLT_URL.',
  connection_lost: 'Read the current state, and try again: the service may have done the request.',
  connection_timeout: 'Read the current state, or allow more time: the service may still do the request.',
  build_failed: 'Correct the fault that the message names, and build again.',
  git_failed: 'Correct the fault that the message names, and try again.',
  local_file_error: 'Correct the fault on this machine that the message names, and try again.',
}

/**
 * The base class of every error that the client throws. `code` is for programs. `message` and
 * `hint` are for people: the event, and the remedy. Two things pass unchanged: the reason of an
 * aborted signal, and errors of the caller's callbacks and streams.
 */
export class HoltError extends Error {
  /** The code for programs. */
  readonly code: HoltErrorCode
  /** The remedy, in one sentence. */
  readonly hint: string
  /**
   * The facts for programs, such as `issues` with the wrong fields; undefined if there are none.
   */
  readonly details: ErrorDetails | undefined
  constructor(
    code: HoltErrorCode,
    message: string,
    options: { details?: ErrorDetails | undefined; hint?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'HoltError'
    this.code = code
    this.hint = options.hint ?? hintOfCode(code)
    this.details = options.details
  }
}

function hintOfCode(code: HoltErrorCode): string {
  return isServiceCode(code) ? translateHint(errorCatalogue[code].hint) : clientHints[code]
}

function isServiceCode(code: HoltErrorCode): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code)
}

/**
 * The error of an unreachable service or a lost answer. With `connection_refused` the service has
 * certainly done nothing.
 */
export class HoltConnectionError extends HoltError {
  /** The reason for the missing answer. */
  declare readonly code: `connection_${ConnectionFailure}`
  /** The end of `code`: `refused`, `lost` or `timeout`. */
  readonly reason: ConnectionFailure
  constructor(reason: ConnectionFailure, message: string, options: { cause?: unknown } = {}) {
    super(`connection_${reason}`, message, options)
    this.name = 'HoltConnectionError'
    this.reason = reason
  }
}

/**
 * An error that the service returned. `details` are the service's own. `message` and `hint` name
 * options and calls of this client in place of fields and requests.
 */
export class HoltApiError extends HoltError {
  /** The code for programs: a key of `errorCatalogue`. */
  declare readonly code: ErrorCode
  /** The status of the answer. */
  readonly httpStatus: number
  /** The code as it was sent. It differs from `code` if this client does not know it. */
  readonly wireCode: string
  /** The message as it was sent. */
  readonly wireMessage: string
  /** The hint as it was sent. */
  readonly wireHint: string
  /** The id of the request, which the operator can look up. */
  readonly requestId: string | null
  /** The time that the service asks to wait before the next try, in seconds. */
  readonly retryAfterSecs: number | null
  constructor(facts: {
    code: ErrorCode
    /** The fields that were sent, for the values of wrong fields. */
    sent?: SentFields | undefined
    wireCode: string
    message: string
    httpStatus: number
    hint?: string | undefined
    details?: ErrorDetails | undefined
    requestId: string | null
    retryAfterSecs: number | null
  }) {
    const { hint = errorCatalogue[facts.code].hint, details, message, sent = {} } = facts
    super(facts.code, translateMessage(message, details, sent), { hint: translateHint(hint), details })
    this.name = 'HoltApiError'
    this.httpStatus = facts.httpStatus
    this.wireCode = facts.wireCode
    this.wireMessage = message
    this.wireHint = hint
    this.requestId = facts.requestId
    this.retryAfterSecs = facts.retryAfterSecs
  }
}

const codeByStatus: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'route_not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  410: 'runtime_terminated',
  412: 'precondition_failed',
  413: 'too_large',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  501: 'not_supported_here',
  502: 'unavailable',
  503: 'unavailable',
  504: 'timeout',
  507: 'disk_full',
}

/** Returns the error of an answer that is no success, even if a proxy in between wrote it. */
export function errorOfAnswer(response: Response, text: string, sent?: SentFields): HoltApiError {
  const body = parseError(text)
  const code = body === null ? undefined : knownCode(body.code)
  const wireCode = typeof body?.code === 'string' ? body.code : String(response.status)
  return new HoltApiError({
    code: code ?? codeByStatus[response.status] ?? (response.status >= 500 ? 'internal' : 'invalid_request'),
    wireCode,
    sent,
    message:
      textOf(body?.message) ?? `The service answered ${response.status}${text === '' ? '' : `: ${text.slice(0, 200)}`}`,
    httpStatus: response.status,
    hint: textOf(body?.hint),
    details: isRecord(body?.details) ? body.details : undefined,
    requestId: textOf(body?.request_id) ?? response.headers.get('x-request-id'),
    retryAfterSecs: parseRetryAfter(response.headers.get('retry-after'), Date.now()),
  })
}

/** Returns the error of one part of an answer whose other parts may be fine. */
export function errorOfBody(
  body: Readonly<Pick<ErrorBody['error'], 'code' | 'message' | 'hint' | 'details'>>,
): HoltApiError {
  const code = knownCode(body.code) ?? 'internal'
  const { message, hint, details } = body
  const { status: httpStatus } = errorCatalogue[code]
  return new HoltApiError({
    code,
    wireCode: body.code,
    message,
    httpStatus,
    hint,
    details,
    requestId: null,
    retryAfterSecs: null,
  })
}

/**
 * Returns the value of `Retry-After`, seconds or a date (RFC 9110, 10.2.3), as seconds from now.
 */
export function parseRetryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs) / 1000
}

function parseError(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) && isRecord(value.error) ? value.error : null
  } catch {
    // The answer is not JSON, so it is not from the service itself. Only the status is known.
    return null
  }
}

function knownCode(code: unknown): ErrorCode | undefined {
  return typeof code === 'string' && Object.hasOwn(errorCatalogue, code) ? (code as ErrorCode) : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
