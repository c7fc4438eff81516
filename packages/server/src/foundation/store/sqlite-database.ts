import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { SqliteDatabase, SqliteStatement } from 'kysely'
import { isDiskFull } from './disk-full.ts'

/**
 * The largest number of prepared statements. There are few (one per query in the source). The bound
 * only guards against a query that is built from data.
 */
const maxStatements = 500

/**
 * `node:sqlite` as the database that kysely's SQLite dialect expects. Each statement is prepared
 * once. A single statement is durable when it returns: WAL with `synchronous=FULL`
 * (https://sqlite.org/pragma.html#pragma_synchronous). A transaction is not, because its commit
 * would block the process until the disk has written. `Durability` makes transactions durable.
 */
export class SqliteFile implements SqliteDatabase {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, SqliteStatement>()

  constructor(path: string) {
    this.#database = new DatabaseSync(path, { timeout: 5000, enableForeignKeyConstraints: true })
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF')
  }

  prepare(sql: string): SqliteStatement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    if (this.#statements.size >= maxStatements) this.#statements.clear()
    const statement = adapt(this.#database, sql)
    this.#statements.set(sql, statement)
    return statement
  }

  exec(sql: string): void {
    this.#database.exec(sql)
  }

  /**
   * Copies the log of an earlier process into the database itself, so that a new log begins. If a
   * sync of the log failed, some of it may be only in memory and marked as clean. Later entries
   * would be synced and then lost with it.
   */
  foldLog(): void {
    try {
      this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)')
    } catch (error) {
      if (!isDiskFull(error)) throw error
      // A start has to succeed on a full disk, so that room can be freed. The log stays as it is.
    }
  }

  close(): void {
    this.#statements.clear()
    if (this.#database.isOpen) this.#database.close()
  }
}

function adapt(database: DatabaseSync, sql: string): SqliteStatement {
  const statement = database.prepare(sql)
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
    run: (parameters) => {
      // On a full disk SQLite rolls back by itself. A second rollback would fail and hide the
      // cause.
      if (/^rollback$/i.test(sql) && !database.isTransaction) return { changes: 0, lastInsertRowid: 0 }
      if (/^begin$/i.test(sql)) database.exec('PRAGMA synchronous = NORMAL')
      try {
        return statement.run(...(parameters as SQLInputValue[]))
      } finally {
        if (/^(begin|commit|rollback)$/i.test(sql) && !database.isTransaction)
          database.exec('PRAGMA synchronous = FULL')
      }
    },
    iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
  }
}
