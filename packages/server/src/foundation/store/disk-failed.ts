/**
 * SQLite's codes for a file that has become read-only and for a disk that fails: SQLITE_READONLY
 * and SQLITE_IOERR (https://sqlite.org/rescode.html). A file system that has found errors makes its
 * files read-only.
 */
const failedCodes = [8, 10]

/**
 * Returns true if the database's file can no longer be read or written. The upper bits of the code
 * have the reason, which is for the log.
 */
export function isDiskFailed(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false
  return failedCodes.includes(error.errcode & 0xff)
}
