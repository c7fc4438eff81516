import { randomBytes } from 'node:crypto'
import { Semaphore } from '@holt/async'
import { ConnectionLost, isCollision, StatementError, unreachable } from './errors.ts'
import { sessionName, takeDatabase } from './lock.ts'
import { type Answer, Session } from './session.ts'

/**
 * The time that a change waits for the database to return before its request is refused, in
 * milliseconds.
 */
const retryTimeoutMs = 2_000

/** The pauses between two attempts to connect, in milliseconds. */
const retryMs = { first: 50, longest: 1_000 }

/** The largest number of runs of a change that collisions or breaks undo. */
const maxRuns = 5

/**
 * Settings of the session that writes. Its transactions are short. A machine that has vanished
 * loses the lock within half a minute.
 */
const settings = `SET synchronous_commit = on; SET idle_in_transaction_session_timeout = 60000; SET lock_timeout = 20000;
SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3`

/** A session that holds the database's lock for this daemon. The first one has epoch 1. */
interface Held {
  readonly session: Session
  readonly epoch: number
}

/**
 * The error for a transaction that a break of the connection or a collision has undone for certain.
 */
class Undone extends Error {
  override readonly name = 'Undone'
}

/** The transaction of one change. */
export interface ChangeUnderWay {
  query(sql: string, values: readonly unknown[]): Promise<Answer>
  commit(): Promise<void>
  rollback(): Promise<void>
}

/** The options of a writer. */
interface WriterOptions {
  readonly url: string
  /** The time that a statement of a change may take, in milliseconds. */
  readonly statementMs: number
  /** Prepares the database in the first session that holds the lock, without a time limit. */
  readonly prepare: (session: Session) => Promise<void>
  /**
   * Called once when another daemon has taken the database. The state of this daemon is no longer
   * reliable then.
   */
  readonly onTaken: (error: Error) => void
}

/**
 * The one connection that writes. It holds the database's lock, so a daemon that has lost the
 * connection cannot write. Every change begins by incrementing a counter in one row:
 *
 * * This orders the changes of all daemons one after another.
 * * It detects that another daemon has taken the database.
 * * After a break of the connection it shows if the last commit was made.
 */
export class Writer {
  readonly #options: WriterOptions
  readonly #daemonId = randomBytes(10).toString('hex')
  readonly #semaphore = new Semaphore(1)
  /** The number of the last committed change at the start of each epoch. */
  readonly #decided: number[] = []
  #held: Held | null = null
  #next = Promise.withResolvers<Held>()
  #ended: Error | null = null
  #cause: unknown = null
  #lostAt = 0

  private constructor(options: WriterOptions) {
    this.#options = options
    this.#next.promise.catch(() => undefined) // The waiting callers get the rejection.
  }

  /** Takes the database. Throws if it cannot be reached or another daemon has it. */
  static async open(options: WriterOptions): Promise<Writer> {
    const writer = new Writer(options)
    await writer.#hold(1)
    return writer
  }

  /**
   * Begins a change when the earlier ones have ended. The caller commits it or rolls it back, once.
   */
  async begin(): Promise<ChangeUnderWay> {
    const asked = Date.now()
    const { promise: over, resolve: end } = Promise.withResolvers<void>()
    const { promise: begun, resolve, reject } = Promise.withResolvers<ChangeUnderWay>()
    void this.#semaphore.run(async () => {
      try {
        resolve(await this.#begin(asked, end))
      } catch (error) {
        reject(error)
        end()
      }
      await over
    })
    return begun
  }

  /** Runs a change. Runs it again if a collision or a break of the connection has undone it. */
  async run<Result>(change: () => Promise<Result>): Promise<Result> {
    for (let run = 1; ; run += 1) {
      try {
        return await change()
      } catch (error) {
        if (!(error instanceof Undone || error instanceof ConnectionLost || isCollision(error))) throw error
        if (run >= maxRuns) throw unreachable(error)
      }
    }
  }

  /** Releases the database. */
  async close(): Promise<void> {
    this.#end(new Error('the store is closed'))
    await this.#held?.session.close()
  }

  async #begin(asked: number, end: () => void): Promise<ChangeUnderWay> {
    // A change that waited for its turn during an outage has waited for the database already. Such
    // changes are refused together, not one after another.
    const deadline = (this.#held === null ? Math.max(asked, this.#lostAt) : Date.now()) + retryTimeoutMs
    for (;;) {
      const held = await this.#within(deadline - Date.now())
      try {
        return this.#underWay(held, await this.#count(held), end)
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
      }
    }
  }

  /**
   * Opens a transaction by incrementing the counter. It never waits: another transaction would have
   * to hold the lock.
   */
  async #count({ session }: Held): Promise<number> {
    const own = `UPDATE holt_writer SET change = change + 1 WHERE daemon = '${this.#daemonId}' RETURNING change`
    try {
      const { rows } = await session.script(`BEGIN; ${own}`)
      const row = rows[0] as { change: number } | undefined
      if (row === undefined) throw this.#taken()
      return row.change
    } catch (error) {
      // If this fails, the connection is lost and no transaction is open.
      if (!(error instanceof ConnectionLost)) await session.script('ROLLBACK').catch(() => undefined)
      throw error
    }
  }

  #underWay({ session, epoch }: Held, change: number, end: () => void): ChangeUnderWay {
    return {
      query: (sql, values) => session.query(sql, values),
      commit: async () => {
        try {
          const { command } = await session.script('COMMIT')
          // COMMIT rolls back a transaction in which a statement has failed. The server does not
          // treat that as an error.
          if (command !== 'COMMIT') throw new StatementError('the transaction had failed before', '25P02')
        } catch (error) {
          if (!(error instanceof ConnectionLost)) throw error
          end()
          if (!(await this.#wasKept(epoch, change))) throw new Undone(error.message)
        } finally {
          end()
        }
      },
      rollback: async () => {
        // The connection is gone, and with it the transaction.
        await session.script('ROLLBACK').catch(() => undefined)
        end()
      },
    }
  }

  /**
   * Returns true if a commit was made although its answer was lost. This is unknown until the
   * database is back, and a late answer is better than a wrong one. The first session after the
   * broken one knows: it read the counter while it held the lock, so the older session had ended.
   */
  async #wasKept(epoch: number, change: number): Promise<boolean> {
    for (;;) {
      const decided = this.#decided[epoch + 1]
      if (decided !== undefined) return decided >= change
      if (this.#ended !== null) throw this.#ended
      await this.#next.promise
    }
  }

  async #within(ms: number): Promise<Held> {
    if (this.#ended !== null) throw this.#ended
    if (this.#held !== null) return this.#held
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(unreachable(this.#cause)), Math.max(0, ms))
    try {
      return await Promise.race([this.#next.promise, late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Connects and takes the database. Waiting changes continue. */
  async #hold(epoch: number): Promise<void> {
    const session = await Session.open(this.#options.url, sessionName(this.#daemonId))
    try {
      if (!(await takeDatabase(session, this.#daemonId))) throw new Taken('another holtd uses this database')
      await session.script(settings)
      if (epoch === 1) {
        session.limitStatements(null)
        await this.#options.prepare(session)
      }
      session.limitStatements(this.#options.statementMs)
      const decided = await this.#claim(session, epoch)
      if (this.#ended !== null) throw this.#ended
      this.#decided[epoch] = decided
      const held = { session, epoch }
      this.#held = held
      this.#next.resolve(held)
      void session.lost.then((cause) => this.#again(held, cause))
    } catch (error) {
      await session.close()
      throw error
    }
  }

  /**
   * Stores this daemon as the database's writer. Returns the number of the last committed change.
   */
  async #claim(session: Session, epoch: number): Promise<number> {
    const condition = epoch === 1 ? '' : `WHERE daemon = '${this.#daemonId}'`
    const { rows } = await session.script(
      `UPDATE holt_writer SET daemon = '${this.#daemonId}' ${condition} RETURNING change`,
    )
    const row = rows[0] as { change: number } | undefined
    if (row === undefined) throw new Taken('another holtd has taken this database')
    return row.change
  }

  /** Takes the database again after a break. Retries until it succeeds or the store is closed. */
  async #again({ epoch }: Held, cause: unknown): Promise<void> {
    this.#held = null
    this.#cause = cause
    this.#lostAt = Date.now()
    if (this.#ended !== null) return
    this.#next = Promise.withResolvers<Held>()
    this.#next.promise.catch(() => undefined) // The waiting callers get the rejection.
    for (let pause = retryMs.first; this.#ended === null; pause = Math.min(2 * pause, retryMs.longest)) {
      try {
        await this.#hold(epoch + 1)
        return
      } catch (error) {
        this.#cause = error
        if (error instanceof Taken) this.#taken()
      }
      await new Promise((resolve) => setTimeout(resolve, pause).unref())
    }
  }

  #taken(): Error {
    const error = new Error('another holtd has taken the database of this one')
    if (this.#ended === null) this.#options.onTaken(error)
    this.#end(error)
    return error
  }

  #end(error: Error): void {
    this.#ended ??= error
    this.#next.reject(error)
  }
}

class Taken extends Error {
  override readonly name = 'Taken'
}
