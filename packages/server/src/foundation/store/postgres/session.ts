import { createHash } from 'node:crypto'
import { Client, type ClientConfig, type QueryConfig, types } from 'pg'
import { ConnectionLost, translate } from './errors.ts'

/**
 * The time that a connection attempt, and one statement that serves requests, may take. After it
 * the connection counts as broken.
 */
export const timeoutMs = { connect: 5_000, statement: 30_000 }

/** The pauses between two attempts to reach the database, in milliseconds. */
export const retryMs = { first: 50, longest: 1_000 }

/**
 * The largest number of prepared statements. There are few (one per query in the source). The bound
 * only guards against a query that is built from data.
 */
const maxPrepared = 500

/**
 * The types of counts and sums, `int8` and `numeric`. They are numbers here, as in SQLite. No value
 * of Holt is beyond 2^53.
 */
const numbers = new Set<number>([types.builtins.INT8, types.builtins.NUMERIC])

/**
 * Returns the settings of a connection. The address and its secrets are passed on to `pg` and kept
 * nowhere else.
 */
export function clientConfig(url: string, applicationName: string): ClientConfig {
  return {
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: timeoutMs.connect,
    keepAlive: true,
    types: {
      getTypeParser: (oid: number, format?: 'text') =>
        numbers.has(oid) ? Number : types.getTypeParser(oid, format ?? 'text'),
    } as NonNullable<ClientConfig['types']>,
  }
}

const names = new Map<string, string>()

/**
 * Returns the name under which a statement is prepared on each connection that runs it. It follows
 * from the text, so that no two daemons mean different statements by it. Returns undefined beyond
 * the bound.
 */
export function preparedName(sql: string): string | undefined {
  const known = names.get(sql)
  if (known !== undefined || names.size >= maxPrepared) return known
  const name = createHash('sha256').update(sql).digest('base64url').slice(0, 22)
  names.set(sql, name)
  return name
}

/** The result of a statement. */
export interface Answer {
  readonly command: string
  readonly rowCount: number | null
  readonly rows: readonly unknown[]
}

/**
 * One connection, from its start to its end. It is never reconnected, so its locks and its
 * transaction hold for as long as it works.
 */
export class Session {
  readonly #client: Client
  readonly #lost = Promise.withResolvers<ConnectionLost>()
  #isLost = false
  #statementMs: number | null = timeoutMs.statement
  readonly #prepares: boolean

  private constructor(client: Client, prepares: boolean) {
    this.#client = client
    this.#prepares = prepares
    client.on('error', (error) => this.#lose(error))
    client.on('end', () => this.#lose(new Error('the connection ended')))
  }

  /**
   * Connects. Throws `ConnectionLost` or `StatementError`. `prepares`: statements are prepared, for
   * connections that run the same ones often. A pooler that shares sessions cannot keep them.
   */
  static async open(url: string, applicationName: string, { prepares = false } = {}): Promise<Session> {
    try {
      const client = new Client(clientConfig(url, applicationName))
      const session = new Session(client, prepares)
      await client.connect()
      return session
    } catch (error) {
      throw translate(error)
    }
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Resolves when the connection has broken. */
  get lost(): Promise<ConnectionLost> {
    return this.#lost.promise
  }

  /**
   * Sets the time that each later statement may take, in milliseconds. Null: no bound, for
   * statements that work on whole tables.
   */
  limitStatements(ms: number | null): void {
    this.#statementMs = ms
  }

  /** Runs one statement with parameters. */
  async query(text: string, values: readonly unknown[] = []): Promise<Answer> {
    const name = this.#prepares ? preparedName(text) : undefined
    return this.#ask({ ...(name === undefined ? {} : { name }), text, values: [...values] })
  }

  /**
   * Runs several statements without parameters in one round trip. Returns the result of the last
   * one.
   */
  async script(sql: string): Promise<Answer> {
    const answers = (await this.#ask({ text: sql })) as Answer | readonly Answer[]
    return Array.isArray(answers) ? (answers.at(-1) as Answer) : (answers as Answer)
  }

  async #ask(asked: QueryConfig): Promise<Answer> {
    if (this.#isLost) throw await this.lost
    const limit = this.#statementMs === null ? {} : { query_timeout: this.#statementMs }
    try {
      return await this.#client.query({ ...asked, ...limit })
    } catch (error) {
      const known = translate(error)
      if (known instanceof ConnectionLost) this.#lose(known)
      throw known
    }
  }

  /** Ends the connection. An open transaction is rolled back. */
  async close(): Promise<void> {
    if (this.#isLost) return
    await this.#client.end().catch(() => undefined) // The connection is of no further use.
  }

  #lose(error: Error): void {
    if (this.#isLost) return
    this.#isLost = true
    this.#lost.resolve(new ConnectionLost(error.message))
    // A connection that timed out may still be open. Nothing more may arrive over it.
    void this.#client.end().catch(() => undefined)
  }
}
