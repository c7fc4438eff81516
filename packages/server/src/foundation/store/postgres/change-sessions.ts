import { Semaphore } from '@holt/async'
import { ConnectionLost, unreachable } from './errors.ts'
import { retryMs, Session } from './session.ts'
import { type CountedSession, counted, endTransaction } from './transaction-status.ts'

/** The number of changes that run at once. More wait for their turn. */
export const connections = 4

/**
 * The time that a change waits for the database to return before its request is refused, in
 * milliseconds.
 */
const retryTimeoutMs = 2_000

/** A connection for one change, and the function that returns it. */
export interface HeldSession extends CountedSession {
  readonly release: () => void
}

/** The options of the connections that write. */
interface ChangeSessionsOptions {
  readonly url: string
  /** The time that a statement of a change may take, in milliseconds. */
  readonly statementMs: number
  /** True if statements are prepared. A pooler that shares sessions cannot keep them. */
  readonly prepares: boolean
}

/**
 * The connections that write. Nothing lasts in a session beyond a transaction, so a pooler may give
 * each transaction another one.
 */
export class ChangeSessions {
  readonly #options: ChangeSessionsOptions
  readonly #semaphore = new Semaphore(connections)
  readonly #idle: CountedSession[] = []
  /** The transactions whose connection broke. The server may not know that yet. */
  readonly #abandoned = new Set<string>()
  /** Since when the database cannot be reached, and why. Null: it could be, the last time. */
  #away: { readonly since: number; readonly cause: unknown } | null = null
  #isClosed = false

  constructor(options: ChangeSessionsOptions) {
    this.#options = options
  }

  /** Takes a connection in its turn, for a change that was asked for at `asked`. */
  async take(asked: number): Promise<HeldSession> {
    const { promise: over, resolve: release } = Promise.withResolvers<void>()
    const { promise: taken, resolve, reject } = Promise.withResolvers<HeldSession>()
    void this.#semaphore.run(async () => {
      try {
        const one = await this.#open(asked)
        resolve({ ...one, release })
        await over
        if (this.#isClosed) await one.session.close()
        else if (!one.session.isLost) this.#idle.push(one)
      } catch (error) {
        reject(error)
      }
    })
    return taken
  }

  /** Opens a connection at once, beside the others. The caller closes it. */
  async extra(): Promise<Session> {
    if (this.#isClosed) throw new Error('the store is closed')
    const { url, prepares } = this.#options
    const session = await Session.open(url, 'holtd', { prepares })
    session.limitStatements(this.#options.statementMs)
    return session
  }

  /** Notes a transaction whose connection broke before its commit. It may still hold locks. */
  abandon(transactionId: string): void {
    this.#abandoned.add(transactionId)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#idle.splice(0).map(({ session }) => session.close()))
  }

  async #open(asked: number): Promise<CountedSession> {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) if (!idle.session.isLost) return idle
    // A change that waited for its turn during an outage has waited for the database already. Such
    // changes are refused together, not one after another.
    const deadline = (this.#away === null ? Date.now() : Math.max(asked, this.#away.since)) + retryTimeoutMs
    for (let pause = retryMs.first; ; pause = Math.min(2 * pause, retryMs.longest)) {
      if (this.#away !== null && Date.now() > deadline) throw unreachable(this.#away.cause)
      try {
        const session = await this.extra()
        await this.#endAbandoned(session)
        const one = await counted(session)
        this.#away = null
        return one
      } catch (cause) {
        if (!(cause instanceof ConnectionLost)) throw cause
        this.#away = { since: this.#away?.since ?? Date.now(), cause }
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(pause, Math.max(1, deadline - Date.now()))))
    }
  }

  async #endAbandoned(session: Session): Promise<void> {
    for (const transactionId of this.#abandoned) {
      await endTransaction(session, transactionId)
      this.#abandoned.delete(transactionId)
    }
  }
}
