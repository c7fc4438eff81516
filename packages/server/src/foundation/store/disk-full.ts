/**
 * Returns true if a write to a file or a store failed because its disk is full: `ENOSPC` and
 * `EDQUOT`, https://sqlite.org/rescode.html#full, and `disk_full` of PostgreSQL.
 */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) return true
  return ('errcode' in error && error.errcode === 13) || ('sqlstate' in error && error.sqlstate === '53100')
}
