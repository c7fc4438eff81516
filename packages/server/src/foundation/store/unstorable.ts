/** SQLITE_TOOBIG, SQLITE_CONSTRAINT and SQLITE_MISMATCH (https://sqlite.org/rescode.html). */
const sqliteCodes = [18, 19, 20]

/**
 * Data exceptions, violated constraints and exceeded limits
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 */
const postgresClasses = ['22', '23', '54']

/** The role of a worker may not write the row. */
const forbiddenRow = '42501'

/** Returns true if a row was refused for its content or owner, and would be refused again. */
export function isUnstorable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('sqlstate' in error && typeof error.sqlstate === 'string')
    return error.sqlstate === forbiddenRow || postgresClasses.includes(error.sqlstate.slice(0, 2))
  return 'errcode' in error && typeof error.errcode === 'number' && sqliteCodes.includes(error.errcode & 0xff)
}
