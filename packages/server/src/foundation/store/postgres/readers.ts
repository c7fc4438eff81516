import { Semaphore } from '@holt/async'
import { Pool } from 'pg'
import { ConnectionLost, translate, unreachable } from './errors.ts'
import { type Answer, clientConfig, preparedName, timeoutMs } from './session.ts'

/** The number of reads that run at once. More wait for their turn. */
const connections = 8

/**
 * The time that a read waits for the database to return, and the pause between two attempts, in
 * milliseconds.
 */
const retryTimeoutMs = 2_000
const retryMs = 100

/** The options of the connections that read. */
interface ReadersOptions {
  readonly url: string
  readonly applicationName: string
  /**
   * True if the sessions are this daemon's own. The server then refuses statements that would
   * write. The setting of a pooler's session would also be that of others.
   */
  readonly ownSessions: boolean
  /** True if statements are prepared. A pooler that shares sessions cannot keep them. */
  readonly prepares: boolean
}

/** The connections that read. */
export class Readers {
  readonly #pool: Pool
  readonly #prepares: boolean
  /**
   * The queue of reads, whose waiting time has no bound. The pool's own waiting counts as a failure
   * to connect.
   */
  readonly #semaphore = new Semaphore(connections)
  /** The reason why the most recently ended read could not connect; null if it could. */
  #cause: ConnectionLost | null = null

  constructor({ url, applicationName, ownSessions, prepares }: ReadersOptions) {
    this.#prepares = prepares
    this.#pool = new Pool({
      ...clientConfig(url, applicationName),
      query_timeout: timeoutMs.statement,
      max: connections,
      idleTimeoutMillis: 60_000,
      onConnect: async (client) => {
        if (ownSessions) await client.query('SET default_transaction_read_only = on')
      },
    })
    // An idle connection has broken. The pool drops it, and the next read makes another one.
    this.#pool.on('error', () => undefined)
  }

  /** Runs one statement. Hides a break of the connection if the database is back soon. */
  async query(text: string, values: readonly unknown[]): Promise<Answer> {
    const deadline = Date.now() + retryTimeoutMs
    const name = this.#prepares ? preparedName(text) : undefined
    for (;;) {
      try {
        const query = { ...(name === undefined ? {} : { name }), text, values: [...values] }
        return await this.#semaphore.run(async () => {
          // A read that waited behind reads that could not connect has waited for the database
          // already.
          if (this.#cause !== null && Date.now() > deadline) throw this.#cause
          const answer = await this.#pool.query(query)
          this.#cause = null
          return answer
        })
      } catch (error) {
        const known = translate(error)
        if (!(known instanceof ConnectionLost)) throw known
        this.#cause = known
        if (Date.now() > deadline) throw unreachable(known)
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}
