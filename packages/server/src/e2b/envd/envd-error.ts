import { type ConnectCode, ConnectError, type E2bError, sandboxGone } from '@holt/e2b'
import { type ErrorCode, errorCatalogue, type HoltError } from '@holt/protocol'
import { isGone } from '../sandbox/sandbox-visit.ts'

/** The Connect codes of HTTP statuses. Other statuses are `internal`. */
const codes: Readonly<Record<number, ConnectCode>> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  409: 'failed_precondition',
  413: 'resource_exhausted',
  415: 'invalid_argument',
  416: 'invalid_argument',
  429: 'resource_exhausted',
  501: 'unimplemented',
  503: 'unavailable',
  504: 'deadline_exceeded',
  507: 'resource_exhausted',
}

/** The codes that differ from those of their statuses. */
const otherCodes: Partial<Readonly<Record<ErrorCode, ConnectCode>>> = {
  already_exists: 'already_exists',
  directory_not_empty: 'internal',
  symlink_loop: 'failed_precondition',
  // The guest has no process, memory, descriptor or watch left.
  conflict: 'resource_exhausted',
}

/** Returns the Connect code for an error of the catalogue. */
export function connectCodeOf(code: ErrorCode): ConnectCode {
  return otherCodes[code] ?? codes[errorCatalogue[code].status] ?? 'internal'
}

/**
 * Returns an error as the clients of commands and files understand it. `account` is the account for
 * which the request acted.
 */
export function envdErrorOf(
  error: HoltError,
  { sandboxId, account }: { readonly sandboxId: string; readonly account?: string },
): ConnectError | E2bError {
  if (isGone(error)) return sandboxGone(sandboxId)
  const { reason, path } = (error.details ?? {}) as { readonly reason?: unknown; readonly path?: unknown }
  const cause = { cause: error }
  if (reason === 'no_such_account')
    return new ConnectError('unauthenticated', `invalid username: '${account ?? ''}'`, cause)
  if (typeof path === 'string') {
    if (reason === 'no_such_directory')
      return new ConnectError('invalid_argument', `cwd '${path}' does not exist`, cause)
    if (error.code === 'path_not_found') return new ConnectError('not_found', `path '${path}' does not exist`, cause)
    if (error.code === 'is_directory')
      return new ConnectError('invalid_argument', `path '${path}' is a directory`, cause)
  }
  return new ConnectError(connectCodeOf(error.code), error.message, { ...cause, status: error.status })
}
