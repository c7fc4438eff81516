import { chmodSync, closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { Kysely, SqliteDialect, type Transaction } from 'kysely'
import { DiskReserve } from './disk-reserve.ts'
import { Durability } from './durability.ts'
import { migrations } from './migrations.ts'
import { isDiskFull, SqliteFile } from './sqlite-database.ts'
import type { Tables } from './tables.ts'

/** Queries inside one transaction. */
type Changes = Transaction<Tables>

/** What queries can be asked of: the store itself or a transaction. */
export type Queries = Kysely<Tables>

/** How a change is made. */
interface ChangeOptions {
  /** `later`: for what a power cut may take back, since it takes what the change is about as well. The next durable change makes it so too. */
  readonly durable?: 'now' | 'later'
}

/** The service's database. */
export interface Store {
  readonly db: Queries
  /**
   * Runs a change as one transaction: all of it, or nothing when it throws. Resolves when it is durable, or with `durable: 'later'` as soon as it is seen by others and
   * survives the end of this process. On a full disk it is run once more with the room that is held in reserve, so `run` may be called twice.
   */
  change<Result>(run: (changes: Changes) => Promise<Result>, options?: ChangeOptions): Promise<Result>
  /** Resolves when every change made so far is durable. A change is never durable before those that were made before it. */
  settled(): Promise<void>
  /** Lays the reserve in again after the disk was full. Called now and then. */
  refillReserve(): void
  close(): Promise<void>
}

/** Opens the database file, making and migrating it as needed. `:memory:` is a store that ends with the process. */
export function openStore(path: string): Store {
  const file = new SqliteFile(path)
  if (path !== ':memory:') chmodSync(path, 0o600)
  try {
    migrate(file)
  } catch (error) {
    file.close()
    throw error
  }
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: file }) })
  let wal = path === ':memory:' ? null : openSync(`${path}-wal`, 'r')
  const durability = new Durability(async () => {
    if (wal !== null) await promisify(fdatasync)(wal)
  })
  const reserve = path === ':memory:' ? null : new DiskReserve(`${path}-reserve`)
  reserve?.fill()
  const commit = async <Result>(run: (changes: Changes) => Promise<Result>): Promise<Result> => {
    try {
      return await db.transaction().execute(run)
    } catch (error) {
      if (!isDiskFull(error) || reserve?.release() !== true) throw error
      return db.transaction().execute(run)
    }
  }
  return {
    db,
    change: async (run, { durable = 'now' } = {}) => {
      const result = await commit(run)
      durability.committed()
      if (durable === 'now') await durability.settled()
      return result
    },
    settled: () => durability.settled(),
    refillReserve: () => reserve?.fill(),
    close: async () => {
      await db.destroy()
      await durability.settled()
      if (wal !== null) closeSync(wal)
      wal = null
      file.close()
    },
  }
}

function migrate(file: SqliteFile): void {
  file.exec('CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT')
  const [row] = file.prepare('SELECT coalesce(max(version), 0) AS version FROM migrations').all([]) as [
    { version: number },
  ]
  if (row.version > migrations.length) {
    throw new Error(
      `the database has schema ${row.version}; this holtd knows ${migrations.length}: it was written by a newer one`,
    )
  }
  for (const [index, sql] of migrations.entries()) {
    if (index < row.version) continue
    file.exec(`BEGIN IMMEDIATE; ${sql}; INSERT INTO migrations VALUES (${index + 1}, ${Date.now()}); COMMIT`)
  }
}
