import { chmodSync, closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { failpoint } from '@holt/failpoints'
import { Kysely, SqliteDialect } from 'kysely'
import type { Alone } from './alone.ts'
import { type Changes, inTransaction } from './changes.ts'
import { isDiskFull } from './disk-full.ts'
import { DiskReserve, reserveOf } from './disk-reserve.ts'
import { Durability } from './durability.ts'
import { endProcess } from './end-process.ts'
import { migrations } from './migrations/migrations.ts'
import { readsFrom } from './migrations/reads-from.ts'
import { refuseUnread, type StoredSchema } from './migrations/refuse-newer.ts'
import type { Store } from './open-store.ts'
import { requireIntegrity } from './require-integrity.ts'
import { SqliteFile } from './sqlite-database.ts'
import type { Tables } from './tables.ts'

interface SqliteStoreOptions {
  /** Called after a failed sync. No change resolves after that. The default ends this process. */
  readonly onFailed?: (error: Error) => void
  /** Makes a file durable. */
  readonly sync?: (file: number) => Promise<void>
}

/**
 * Opens the database file, and makes and migrates it as needed. `:memory:` is a store that ends
 * with the process.
 */
export function openSqliteStore(
  path: string,
  { onFailed = endProcess, sync = promisify(fdatasync) }: SqliteStoreOptions = {},
): Store {
  requireIntegrity(path)
  const file = new SqliteFile(path)
  if (path !== ':memory:') chmodSync(path, 0o600)
  try {
    migrateSqlite(file)
    file.foldLog()
  } catch (error) {
    file.close()
    throw error
  }
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: file }) })
  let wal = path === ':memory:' ? null : openSync(`${path}-wal`, 'r')
  const durability = new Durability({
    sync: async () => {
      if (wal !== null) await sync(wal)
    },
    onFailed,
  })
  const reserve = path === ':memory:' ? null : new DiskReserve(reserveOf(path))
  reserve?.fill()
  const commit = async <Result>(alone: Alone, run: (changes: Changes) => Promise<Result>): Promise<Result> => {
    try {
      return await inTransaction(db, { alone }, run)
    } catch (error) {
      if (!isDiskFull(error) || reserve?.release() !== true) throw error
      return inTransaction(db, { alone }, run)
    }
  }
  return {
    type: 'sqlite',
    db,
    change: async (alone, run, { durable = 'now' } = {}) => {
      await failpoint('store.change')
      const result = await commit(alone, run)
      durability.committed()
      await failpoint('store.committed')
      if (durable === 'now') await durability.settled()
      return result
    },
    atOneMoment: (read) => db.transaction().execute(read),
    // There is one connection, and whoever has it has waited for the earlier changes.
    changesEnded: () => db.connection().execute(async () => {}),
    settled: () => durability.settled(),
    refillReserve: () => reserve?.fill(),
    close: async () => {
      await db.destroy()
      try {
        await durability.settled()
      } finally {
        if (wal !== null) closeSync(wal)
        wal = null
        file.close()
      }
    },
  }
}

/** Makes or migrates the schema up to an entry of its history. */
export function migrateSqlite(file: SqliteFile, upTo: number = migrations.length): void {
  file.exec(
    'CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL, reads_from INTEGER) STRICT',
  )
  const hasReadsFrom = file.prepare(readsFromColumn).all([]).length > 0
  const schema = readSqliteSchema((sql) => file.prepare(sql).all([]) as Record<string, unknown>[])
  refuseUnread(schema)
  for (const [index, sql] of migrations.slice(0, upTo).entries()) {
    if (index < schema.version) continue
    if (!hasReadsFrom && index === schema.version) file.exec('ALTER TABLE migrations ADD COLUMN reads_from INTEGER')
    const row = `${index + 1}, ${Date.now()}, ${readsFrom[index + 1] ?? 'NULL'}`
    file.exec(`BEGIN IMMEDIATE; ${sql}; INSERT INTO migrations VALUES (${row}); COMMIT`)
  }
}

/** Selects the column that says who can read a migration. Stores of earlier versions lack it. */
const readsFromColumn = `SELECT name FROM pragma_table_info('migrations') WHERE name = 'reads_from'`

/** Reads the schema of a file. `all` returns the rows of a query. */
export function readSqliteSchema(all: (sql: string) => readonly Record<string, unknown>[]): StoredSchema {
  const [row] = all('SELECT coalesce(max(version), 0) AS version FROM migrations')
  const version = Number(row?.version)
  if (version <= migrations.length || all(readsFromColumn).length === 0) return { version, readsFrom: null }
  const unknown = all(`SELECT reads_from FROM migrations WHERE version > ${migrations.length}`)
  return { version, readsFrom: latestOf(unknown.map(({ reads_from }) => reads_from)) }
}

/** Returns the latest of the schemas that migrations can be read from; null if one says none. */
function latestOf(told: readonly unknown[]): number | null {
  return told.every((one) => typeof one === 'number') ? Math.max(...(told as number[])) : null
}
