import { HoltError } from '@holt/protocol'
import { DatabaseError } from 'pg'

/**
 * An error that the database has returned. It leaves out `detail` and `where` of the protocol,
 * which may hold values of the statement and so data of a user.
 */
export class StatementError extends Error {
  override readonly name = 'StatementError'
  /** https://www.postgresql.org/docs/current/errcodes-appendix.html */
  readonly sqlstate: string

  constructor(message: string, sqlstate: string) {
    super(`${message} (${sqlstate})`)
    this.sqlstate = sqlstate
  }
}

/**
 * The connection broke, or the server ended it. It is unknown if the last statement took effect.
 */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
  /**
   * A SQLSTATE, an errno, or Node's code for a wrong certificate. `tls` if the server does not
   * offer TLS, `timeout` if it did not answer in time, null if unknown.
   */
  readonly code: string | null

  constructor(message: string, code: string | null = null) {
    super(message)
    this.code = code
  }
}

/**
 * The classes and codes of errors after which a connection is broken: connection exceptions,
 * shutdowns, and sessions that the server has ended.
 */
const lostStates = /^(?:08|57P0[1-5]|25P0[34]|53300)/

/**
 * Returns true if a prepared statement no longer fits its table: a newer daemon of the fleet has
 * added a column. It fails on this connection from then on, and not on the next one.
 */
function isOutdatedPlan({ code, routine }: DatabaseError): boolean {
  return code === '0A000' && routine === 'RevalidateCachedQuery'
}

/**
 * Turns an error of `pg` into one of the errors above. The original is never passed on: it may
 * carry parameters, and its properties may hold the settings of the connection.
 */
export function translate(error: unknown): StatementError | ConnectionLost {
  if (error instanceof StatementError || error instanceof ConnectionLost) return error
  if (error instanceof DatabaseError && !lostStates.test(error.code ?? '') && !isOutdatedPlan(error)) {
    return new StatementError(error.message, error.code ?? 'XX000')
  }
  if (!(error instanceof Error)) return new ConnectionLost(String(error))
  const { code } = error as NodeJS.ErrnoException
  return new ConnectionLost(error.message || code || 'no connection', code ?? codeOfMessage(error.message))
}

/** Returns the code of an error for which `pg` gives only a message. */
function codeOfMessage(message: string): string | null {
  if (message.includes('does not support SSL')) return 'tls'
  return /\btimeout\b/i.test(message) ? 'timeout' : null
}

/** Returns the code of one of the errors above; null if there is none. */
export function codeOf(error: unknown): string | null {
  if (error instanceof StatementError) return error.sqlstate
  return error instanceof ConnectionLost ? error.code : null
}

/**
 * Returns true if the same transaction may succeed in another run: after a serialization failure or
 * a deadlock.
 */
export function isCollision(error: unknown): boolean {
  return error instanceof StatementError && (error.sqlstate === '40001' || error.sqlstate === '40P01')
}

/**
 * Returns true if a unique index or a foreign key has refused a row. If the change looked before,
 * another change has written in between, and the next run sees that.
 */
export function isRefusedByConstraint(error: unknown): boolean {
  return error instanceof StatementError && (error.sqlstate === '23505' || error.sqlstate === '23503')
}

/** Returns true if a statement has waited too long for a lock of another transaction. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof StatementError && error.sqlstate === '55P03'
}

/** Returns the error of a request whose change has waited too long for others. */
export function busy(cause: unknown): HoltError {
  return new HoltError('unavailable', 'The database of the service is busy.', { hint: 'Try again.', cause })
}

/** Returns the error of a request while the database cannot be reached. */
export function unreachable(cause: unknown): HoltError {
  return new HoltError('unavailable', 'The database of the service cannot be reached.', {
    hint: 'Try again. The service continues by itself when its database is back.',
    cause,
  })
}
