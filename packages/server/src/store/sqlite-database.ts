import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { SqliteDatabase, SqliteStatement } from 'kysely'
import { isDiskFull } from './disk-full.ts'

/**
 * Statements are few (one per query in the source), so the bound is only a guard against a query
 * built from data.
 */
const maxStatements = 500

/**
 * `node:sqlite` as the database that kysely's SQLite dialect expects, with every statement prepared
 * once. A statement by itself is durable when it returns: WAL with `synchronous=FULL`
 * (https://sqlite.org/pragma.html#pragma_synchronous). A transaction is not, since its commit would
 * hold up the process for as long as the disk takes: `Durability` sees to that for whoever made it.
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
   * Writes what an earlier process has left in the log into the database itself, so that the log
   * begins anew. Where a sync of it failed, some of the log may be in memory alone and taken for
   * clean: what came after it would be synced, and lost with it.
   */
  foldLog(): void {
    try {
      this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)')
    } catch (error) {
      if (!isDiskFull(error)) throw error
      // A start has to succeed on a full disk, so that room can be made; the log stays as it is.
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
      // On a full disk SQLite has rolled back by itself; a second rollback would fail and hide why.
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
