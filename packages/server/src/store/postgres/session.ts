import { Client, type ClientConfig, type QueryConfig, types } from 'pg'
import { ConnectionLost, translate } from './errors.ts'

/**
 * How long a connection, and one statement that serves requests, may take. What takes longer counts
 * as a broken connection.
 */
export const timeoutMs = { connect: 5_000, statement: 30_000 }

/**
 * Statements are few (one per query in the source); the bound is only a guard against a query built
 * from data.
 */
const maxPrepared = 500

/**
 * `int8` and `numeric`, what counts and sums are, are numbers here as in SQLite; none of Holt's is
 * beyond 2^53.
 */
const numbers = new Set<number>([types.builtins.INT8, types.builtins.NUMERIC])

/**
 * Settings of every connection. The address, with what is secret in it, is passed on to `pg` and
 * kept nowhere else.
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
 * The name under which a statement is prepared on each connection that it is asked on; none beyond
 * the bound.
 */
export function preparedName(sql: string): string | undefined {
  const known = names.get(sql)
  if (known !== undefined || names.size >= maxPrepared) return known
  const name = `s${names.size}`
  names.set(sql, name)
  return name
}

/** What a statement answered. */
export interface Answer {
  readonly command: string
  readonly rowCount: number | null
  readonly rows: readonly unknown[]
}

/**
 * One connection, from its begin to its end: it is never made anew, so what holds for it (a lock, a
 * transaction) holds for as long as it answers.
 */
export class Session {
  readonly #client: Client
  readonly #lost = Promise.withResolvers<ConnectionLost>()
  #isLost = false
  #statementMs: number | null = timeoutMs.statement

  private constructor(client: Client) {
    this.#client = client
    client.on('error', (error) => this.#lose(error))
    client.on('end', () => this.#lose(new Error('the connection ended')))
  }

  /** Connects. Throws `ConnectionLost` or a `StatementError`. */
  static async open(url: string, applicationName: string): Promise<Session> {
    try {
      const client = new Client(clientConfig(url, applicationName))
      const session = new Session(client)
      await client.connect()
      return session
    } catch (error) {
      throw translate(error)
    }
  }

  /** Resolves when the connection has broken. */
  get lost(): Promise<ConnectionLost> {
    return this.#lost.promise
  }

  /**
   * How long each statement from now on may take; null: as long as it takes, as what works on whole
   * tables does.
   */
  limitStatements(ms: number | null): void {
    this.#statementMs = ms
  }

  /** Asks one statement with parameters. */
  async query(text: string, values: readonly unknown[] = []): Promise<Answer> {
    const name = preparedName(text)
    return this.#ask({ ...(name === undefined ? {} : { name }), text, values: [...values] })
  }

  /**
   * Asks several statements without parameters in one round trip, and answers the last one's
   * answer.
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

  /** Ends the connection; a transaction that is open is rolled back. */
  async close(): Promise<void> {
    if (this.#isLost) return
    await this.#client.end().catch(() => undefined) // It is over in any case.
  }

  #lose(error: Error): void {
    if (this.#isLost) return
    this.#isLost = true
    this.#lost.resolve(new ConnectionLost(error.message))
    // One that has only fallen silent still stands: nothing more is to come over it.
    void this.#client.end().catch(() => undefined)
  }
}
