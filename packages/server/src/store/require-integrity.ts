import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** The database is not what SQLite has written. */
class DamagedDatabase extends Error {
  override readonly name = 'DamagedDatabase'
}

/**
 * What SQLite says of a file that is damaged, and of one that is no database
 * (https://sqlite.org/rescode.html).
 */
const damageCodes = [11, 26]

/**
 * Refuses a database that is damaged, before anything is written to it: it is opened for reading
 * alone, and looked through (`PRAGMA quick_check`, about a second for each GiB). One that is not
 * there yet is whole. Throws `DamagedDatabase`, whose message names the ways out.
 */
export function requireIntegrity(path: string): void {
  if (path === ':memory:' || isAbsentOrEmpty(path)) return
  const problem = findDamage(path)
  if (problem === null) return
  throw new DamagedDatabase(
    [
      `the database ${path} is damaged: ${problem}`,
      'Nothing was changed. Runtimes go on as they are; put the file aside with its -wal and -shm before anything else.',
      'Then either restore a back-up (`holtd import FILE` into an empty store), or get out what can be read: `sqlite3 holt.db .recover | sqlite3 recovered.db`.',
    ].join('\n'),
  )
}

/**
 * What is damaged of a database file, opened for reading alone; null where nothing is, or where it
 * cannot be opened for another reason.
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
    // What cannot be opened for another reason is said by whoever opens it for writing.
    const { errcode, message } = error as Error & { errcode?: number }
    return damageCodes.includes((errcode ?? 0) & 0xff) ? message : null
  }
}

function isAbsentOrEmpty(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0
}
