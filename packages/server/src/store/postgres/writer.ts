import { randomBytes } from 'node:crypto'
import { Turns } from '../../turns.ts'
import { ConnectionLost, isCollision, StatementError, unreachable } from './errors.ts'
import { sessionName, takeDatabase } from './lock.ts'
import { type Answer, Session } from './session.ts'

/** How long a change waits for the database to come back before its request is refused. */
const patienceMs = 2_000

/** Pauses between two attempts to connect. */
const retryMs = { first: 50, longest: 1_000 }

/** How often a change is run in all, where collisions or breaks undo it. */
const maxRuns = 5

/**
 * Settings of the session that writes. Its transactions are short; a machine that has vanished is
 * to lose the lock within half a minute.
 */
const settings = `SET synchronous_commit = on; SET idle_in_transaction_session_timeout = 60000; SET lock_timeout = 20000;
SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3`

/** A session that has the database for this daemon; the first one is of epoch 1. */
interface Held {
  readonly session: Session
  readonly epoch: number
}

/** A transaction that a break of the connection or a collision has undone for certain. */
class Undone extends Error {
  override readonly name = 'Undone'
}

/** The transaction of one change. */
export interface ChangeUnderWay {
  query(sql: string, values: readonly unknown[]): Promise<Answer>
  commit(): Promise<void>
  rollback(): Promise<void>
}

/** What a writer is made of. */
interface WriterOptions {
  readonly url: string
  /** How long a statement of a change may take. */
  readonly statementMs: number
  /** Prepares the database for a session that has it for the first time, however long it takes. */
  readonly prepare: (session: Session) => Promise<void>
  /**
   * Is told, once, that another daemon has taken the database: what this one knows is not to be
   * relied on any more.
   */
  readonly onTaken: (error: Error) => void
}

/**
 * The one connection that writes. It holds the database's lock, so who has lost the connection
 * cannot write; and every change begins by counting up one row, which orders changes of whatever
 * daemon one after another, finds out who else has taken the database, and tells after a break of
 * the connection whether the last commit was made.
 */
export class Writer {
  readonly #options: WriterOptions
  readonly #daemonId = randomBytes(10).toString('hex')
  readonly #turns = new Turns(1)
  /** By epoch: the number of the last change that was kept when it began. */
  readonly #decided: number[] = []
  #held: Held | null = null
  #next = Promise.withResolvers<Held>()
  #ended: Error | null = null
  #cause: unknown = null
  #lostAt = 0

  private constructor(options: WriterOptions) {
    this.#options = options
    this.#next.promise.catch(() => undefined) // Those who wait are told.
  }

  /** Takes the database. Throws where it cannot be reached, or another daemon has it. */
  static async open(options: WriterOptions): Promise<Writer> {
    const writer = new Writer(options)
    await writer.#hold(1)
    return writer
  }

  /**
   * Begins a change when those before it have ended. The caller commits it or rolls it back, once.
   */
  async begin(): Promise<ChangeUnderWay> {
    const asked = Date.now()
    const { promise: over, resolve: end } = Promise.withResolvers<void>()
    const { promise: begun, resolve, reject } = Promise.withResolvers<ChangeUnderWay>()
    void this.#turns.run(async () => {
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

  /** Runs a change, once more where it was undone by no fault of its own. */
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

  /** Lets go of the database. */
  async close(): Promise<void> {
    this.#end(new Error('the store is closed'))
    await this.#held?.session.close()
  }

  async #begin(asked: number, end: () => void): Promise<ChangeUnderWay> {
    // Who has waited for a turn while the database was away has waited for the database: they are
    // refused together, not one after another.
    const deadline = (this.#held === null ? Math.max(asked, this.#lostAt) : Date.now()) + patienceMs
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
   * Opens a transaction by counting up. It waits for nobody: whoever else would have to have the
   * lock.
   */
  async #count({ session }: Held): Promise<number> {
    const own = `UPDATE holt_writer SET change = change + 1 WHERE daemon = '${this.#daemonId}' RETURNING change`
    try {
      const { rows } = await session.script(`BEGIN; ${own}`)
      const row = rows[0] as { change: number } | undefined
      if (row === undefined) throw this.#taken()
      return row.change
    } catch (error) {
      if (!(error instanceof ConnectionLost)) await session.script('ROLLBACK').catch(() => undefined) // Then it is lost, and nothing is open.
      throw error
    }
  }

  #underWay({ session, epoch }: Held, change: number, end: () => void): ChangeUnderWay {
    return {
      query: (sql, values) => session.query(sql, values),
      commit: async () => {
        try {
          const { command } = await session.script('COMMIT')
          // A transaction in which a statement has failed is rolled back by COMMIT, and that is no
          // error to the server.
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
        await session.script('ROLLBACK').catch(() => undefined) // The connection is gone, and with it the transaction.
        end()
      },
    }
  }

  /**
   * Whether a commit whose answer was lost has been made. Nobody can tell before the database is
   * back, and an answer that is wrong is worse than one that is late. The first session after the
   * one that broke knows: it read the count when it had the lock, and the older session therefore
   * had ended.
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

  /** Connects and takes the database; whoever waits goes on. */
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

  /** Writes down whose the database is, and answers the number of the last change that was kept. */
  async #claim(session: Session, epoch: number): Promise<number> {
    const condition = epoch === 1 ? '' : `WHERE daemon = '${this.#daemonId}'`
    const { rows } = await session.script(
      `UPDATE holt_writer SET daemon = '${this.#daemonId}' ${condition} RETURNING change`,
    )
    const row = rows[0] as { change: number } | undefined
    if (row === undefined) throw new Taken('another holtd has taken this database')
    return row.change
  }

  /** Takes the database again after a break, until it succeeds or the store is closed. */
  async #again({ epoch }: Held, cause: unknown): Promise<void> {
    this.#held = null
    this.#cause = cause
    this.#lostAt = Date.now()
    if (this.#ended !== null) return
    this.#next = Promise.withResolvers<Held>()
    this.#next.promise.catch(() => undefined) // Those who wait are told.
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
