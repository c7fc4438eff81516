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
 * PostgreSQL as kysely sees it: reads go to any of several connections, transactions and single
 * statements that write to the one that may.
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

  async acquireConnection(): Promise<Lane> {
    return new Lane(this.#writer, this.#readers)
  }

  async beginTransaction(lane: DatabaseConnection): Promise<void> {
    ;(lane as Lane).change = await this.#writer.begin()
  }

  async commitTransaction(lane: DatabaseConnection): Promise<void> {
    await (lane as Lane).change?.commit()
  }

  async rollbackTransaction(lane: DatabaseConnection): Promise<void> {
    await (lane as Lane).change?.rollback()
  }

  async releaseConnection(lane: DatabaseConnection): Promise<void> {
    ;(lane as Lane).change = null
  }

  /** The store closes its connections, also where nothing was asked. */
  async destroy(): Promise<void> {}
}

/** What kysely takes for a connection: it becomes one of a kind when it is known what is asked. */
class Lane implements DatabaseConnection {
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
