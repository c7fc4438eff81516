import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import type { SqliteDatabase, SqliteStatement } from 'kysely'

/** Statements are few (one per query in the source), so the bound is only a guard against a query built from data. */
const maxStatements = 500

/**
 * `node:sqlite` as the database that kysely's SQLite dialect expects, with every statement prepared once.
 * Durable: WAL with `synchronous=FULL` (https://sqlite.org/pragma.html#pragma_synchronous).
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
    const statement = adapt(this.#database.prepare(sql))
    this.#statements.set(sql, statement)
    return statement
  }

  exec(sql: string): void {
    this.#database.exec(sql)
  }

  close(): void {
    this.#statements.clear()
    if (this.#database.isOpen) this.#database.close()
  }
}

function adapt(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
    run: (parameters) => statement.run(...(parameters as SQLInputValue[])),
    iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
  }
}
