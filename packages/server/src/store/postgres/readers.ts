import { Pool } from 'pg'
import { Turns } from '../../turns.ts'
import { ConnectionLost, translate, unreachable } from './errors.ts'
import { type Answer, clientConfig, preparedName, timeoutMs } from './session.ts'

/** Reads at once; more wait for their turn. */
const connections = 8

/** How long a read waits for the database to come back, and the pause between two attempts. */
const patienceMs = 2_000
const retryMs = 100

/**
 * The connections that read. A statement that would write is refused by the server, so that nothing
 * can be written beside the one that holds the lock.
 */
export class Readers {
  readonly #pool: Pool
  /**
   * Waiting for a turn takes as long as it takes; the pool's own waiting counts as a failure to
   * connect.
   */
  readonly #turns = new Turns(connections)
  /** Why the last one to end could not connect; null: it could. */
  #cause: ConnectionLost | null = null

  constructor(url: string, applicationName: string) {
    this.#pool = new Pool({
      ...clientConfig(url, applicationName),
      query_timeout: timeoutMs.statement,
      max: connections,
      idleTimeoutMillis: 60_000,
      onConnect: async (client) => {
        await client.query('SET default_transaction_read_only = on')
      },
    })
    // An idle connection has broken: the pool drops it, and the next read makes another one.
    this.#pool.on('error', () => undefined)
  }

  /** Asks one statement. A break of the connection is not seen where the database is back soon. */
  async query(text: string, values: readonly unknown[]): Promise<Answer> {
    const deadline = Date.now() + patienceMs
    const name = preparedName(text)
    for (;;) {
      try {
        const query = { ...(name === undefined ? {} : { name }), text, values: [...values] }
        return await this.#turns.run(async () => {
          // Who has waited for a turn behind those that could not connect has waited for the
          // database.
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
