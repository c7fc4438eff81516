import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type { Readers } from './readers.ts'
import type { Answer } from './session.ts'
import type { ChangeUnderWay, Writer } from './writer.ts'

/**
 * Returns the kysely dialect of PostgreSQL. Reads go to any of several connections. Transactions
 * and single statements that write go to the one connection that may write.
 */
export function postgresDialect(writer: Writer, readers: Readers): Dialect {
  return {
    createDriver: () => new StoreDriver(writer, readers),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  }
}

class StoreDriver implements Driver {
  readonly #writer: Writer
  readonly #readers: Readers

  constructor(writer: Writer, readers: Readers) {
    this.#writer = writer
    this.#readers = readers
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<RoutedConnection> {
    return new RoutedConnection(this.#writer, this.#readers)
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    ;(connection as RoutedConnection).change = await this.#writer.begin()
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as RoutedConnection).change?.commit()
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as RoutedConnection).change?.rollback()
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    ;(connection as RoutedConnection).change = null
  }

  /** Does nothing. The store closes its connections itself, even if no query was made. */
  async destroy(): Promise<void> {}
}

/**
 * A connection as kysely sees it. Each query goes to the open transaction, a reader or the writer.
 */
class RoutedConnection implements DatabaseConnection {
  change: ChangeUnderWay | null = null
  readonly #writer: Writer
  readonly #readers: Readers

  constructor(writer: Writer, readers: Readers) {
    this.#writer = writer
    this.#readers = readers
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return resultOf(await this.#ask(query))
  }

  streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('rows are read in pages, not streamed')
  }

  async #ask(query: CompiledQuery): Promise<Answer> {
    const { sql, parameters } = query
    if (this.change !== null) return this.change.query(sql, parameters)
    if (reads(query)) return this.#readers.query(sql, parameters)
    return this.#writer.run(async () => {
      const change = await this.#writer.begin()
      try {
        const answer = await change.query(sql, parameters)
        await change.commit()
        return answer
      } catch (error) {
        await change.rollback()
        throw error
      }
    })
  }
}

function reads({ query, sql }: CompiledQuery): boolean {
  return query.kind === 'SelectQueryNode' || (query.kind === 'RawNode' && /^\s*select\b/i.test(sql))
}

function resultOf<Row>({ command, rowCount, rows }: Answer): QueryResult<Row> {
  const changed = /^(?:INSERT|UPDATE|DELETE|MERGE)$/.test(command)
  return { rows: rows as Row[], ...(changed ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}) }
}
