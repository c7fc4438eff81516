/** True for the failure of a write to a store whose disk is full: https://sqlite.org/rescode.html#full, and `disk_full` of PostgreSQL. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('errcode' in error && error.errcode === 13) || ('sqlstate' in error && error.sqlstate === '53100')
}
