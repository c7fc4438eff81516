import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import type { Alone } from '../alone.ts'
import type { Readers } from './readers.ts'
import type { Answer } from './session.ts'
import type { ChangeUnderWay, Writer } from './writer.ts'

/** The scope of the transaction that is about to begin. kysely passes on nothing of its own. */
export const scopeOfNext = new AsyncLocalStorage<Alone>()

/**
 * Returns the kysely dialect of PostgreSQL. Reads go to any of several connections. Transactions
 * and single statements that write go to those that may write.
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

  async beginTransaction(connection: DatabaseConnection, { accessMode }: TransactionSettings): Promise<void> {
    const routed = connection as RoutedConnection
    if (accessMode === 'read only') routed.change = await this.#writer.beginReading()
    else routed.change = await this.#writer.begin(scopeOf(scopeOfNext.getStore()))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as RoutedConnection).leaveChange()?.commit()
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as RoutedConnection).leaveChange()?.rollback()
  }

  async releaseConnection(): Promise<void> {}

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

  /** Returns the open transaction once. kysely also rolls back one whose commit has failed. */
  leaveChange(): ChangeUnderWay | null {
    const { change } = this
    this.change = null
    return change
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
      const change = await this.#writer.begin({ type: 'row' })
      const answer = await change.query(sql, parameters).catch(async (error: unknown) => {
        await change.rollback()
        throw error
      })
      await change.commit()
      return answer
    })
  }
}

function scopeOf(alone: Alone | undefined): Alone {
  if (alone === undefined) throw new Error('a transaction that writes is a change of the store, with its scope')
  return alone
}

function reads({ query, sql }: CompiledQuery): boolean {
  return query.kind === 'SelectQueryNode' || (query.kind === 'RawNode' && /^\s*select\b/i.test(sql))
}

function resultOf<Row>({ command, rowCount, rows }: Answer): QueryResult<Row> {
  const changed = /^(?:INSERT|UPDATE|DELETE|MERGE)$/.test(command)
  return { rows: rows as Row[], ...(changed ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}) }
}
