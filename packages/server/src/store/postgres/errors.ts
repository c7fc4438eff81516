import { HoltError } from '@holt/protocol'
import { DatabaseError } from 'pg'

/**
 * An error that the database has answered, without the values of the statement, which may be
 * somebody's: `detail` and `where` of the protocol stay behind.
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
 * The connection broke, or the server ended it. What it was asked last may have been done or not.
 */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
  /**
   * A SQLSTATE, an errno, or what Node calls what is wrong with a certificate; `tls` where the
   * server has none, `timeout` where it said nothing in time; null: nobody said.
   */
  readonly code: string | null

  constructor(message: string, code: string | null = null) {
    super(message)
    this.code = code
  }
}

/**
 * Classes and codes by which a server says that this connection is of no use: connection
 * exceptions, shutdowns, and sessions that it has ended.
 */
const lostStates = /^(?:08|57P0[1-5]|25P0[34]|53300)/

/**
 * Turns what `pg` throws into one of the errors above. It is never passed on: it may carry
 * parameters, and its properties the settings of the connection.
 */
export function translate(error: unknown): StatementError | ConnectionLost {
  if (error instanceof StatementError || error instanceof ConnectionLost) return error
  if (error instanceof DatabaseError && !lostStates.test(error.code ?? '')) {
    return new StatementError(error.message, error.code ?? 'XX000')
  }
  if (!(error instanceof Error)) return new ConnectionLost(String(error))
  const { code } = error as NodeJS.ErrnoException
  return new ConnectionLost(error.message || code || 'no connection', code ?? codeOfMessage(error.message))
}

/** What `pg` says without a code. */
function codeOfMessage(message: string): string | null {
  if (message.includes('does not support SSL')) return 'tls'
  return /\btimeout\b/i.test(message) ? 'timeout' : null
}

/** The code of one of the errors above; null where there is none. */
export function codeOf(error: unknown): string | null {
  if (error instanceof StatementError) return error.sqlstate
  return error instanceof ConnectionLost ? error.code : null
}

/**
 * True where the same transaction may succeed when it is run once more: a serialization failure or
 * a deadlock.
 */
export function isCollision(error: unknown): boolean {
  return error instanceof StatementError && (error.sqlstate === '40001' || error.sqlstate === '40P01')
}

/** What a request is told while the database cannot be reached. */
export function unreachable(cause: unknown): HoltError {
  return new HoltError('unavailable', 'The database of the service cannot be reached.', {
    hint: 'Try again; the service goes on by itself when its database is back.',
    cause,
  })
}
