import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** The error for a damaged database. */
class DamagedDatabase extends Error {
  override readonly name = 'DamagedDatabase'
}

/**
 * SQLite's codes for a damaged file and for a file that is not a database
 * (https://sqlite.org/rescode.html).
 */
const damageCodes = [11, 26]

/**
 * Refuses a damaged database before anything is written to it. Opens it read-only and checks it
 * (`PRAGMA quick_check`, about a second for each GiB). A missing database passes. Throws
 * `DamagedDatabase`, whose message names the ways out.
 */
export function requireIntegrity(path: string): void {
  if (path === ':memory:' || isAbsentOrEmpty(path)) return
  const problem = findDamage(path)
  if (problem === null) return
  throw new DamagedDatabase(
    [
      `the database ${path} is damaged: ${problem}`,
      'Nothing was changed, and runtimes continue. First move the file aside, with its -wal and -shm.',
      'Then either restore a backup (`holtd import FILE` into an empty store), or recover the readable rows: `sqlite3 holt.db .recover | sqlite3 recovered.db`.',
    ].join('\n'),
  )
}

/**
 * Returns the damage of a database file, which it opens read-only. Returns null if there is none,
 * or if the file cannot be opened for another reason.
 */
export function findDamage(path: string): string | null {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
    try {
      const rows = database.prepare('PRAGMA quick_check(1)').all() as { quick_check: string }[]
      const [found] = rows
      return found === undefined || found.quick_check === 'ok' ? null : found.quick_check
    } finally {
      database.close()
    }
  } catch (error) {
    // Another reason is reported by the caller that opens the file for writing.
    const { errcode, message } = error as Error & { errcode?: number }
    return damageCodes.includes((errcode ?? 0) & 0xff) ? message : null
  }
}

function isAbsentOrEmpty(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0
}
