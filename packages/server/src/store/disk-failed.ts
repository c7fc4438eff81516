/**
 * What SQLite says of a file that has become read-only, as a file system does that has found
 * errors, and of a disk that fails: SQLITE_READONLY and SQLITE_IOERR
 * (https://sqlite.org/rescode.html).
 */
const failedCodes = [8, 10]

/**
 * True where the database's file cannot be read or written any more. Why is in the upper bits of
 * the code and for the log.
 */
export function isDiskFailed(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false
  return failedCodes.includes(error.errcode & 0xff)
}
