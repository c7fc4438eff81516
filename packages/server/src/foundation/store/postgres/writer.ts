import { KeyedLock } from '@holt/async'
import { escapeLiteral } from 'pg'
import type { Alone } from '../alone.ts'
import { locked } from './advisory-locks.ts'
import { ChangeSessions, connections, type HeldSession } from './change-sessions.ts'
import {
  busy,
  ConnectionLost,
  isCollision,
  isLockTimeout,
  isRefusedByConstraint,
  StatementError,
  unreachable,
} from './errors.ts'
import type { OneDaemon } from './guard.ts'
import { type Answer, retryMs, type Session } from './session.ts'
import { type CountedChange, transactionsUnderWay, wasCommitted } from './transaction-status.ts'

/** The largest number of runs of a change that collisions or breaks undo. */
const maxRuns = 5

/**
 * The settings of a transaction that writes, in SQL. A session's own settings would be those of
 * whoever a pooler gives the session next. The first bound is smaller than the second: a
 * transaction whose client has vanished ends while others wait for its locks.
 */
const settings = [
  ['idle_in_transaction_session_timeout', `'15s'`],
  ['lock_timeout', `'20s'`],
  [
    'synchronous_commit',
    `CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END`,
  ],
]
  .map(([name, value]) => `set_config('${name}', ${value}, true)`)
  .join(', ')

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

/**
 * Sends the first statement of a change. The id of a transaction that only reads is null. `commit`
 * may release the connection before it settles. It is released then in any case.
 */
type Begin = (held: HeldSession) => Promise<{ commit(): Promise<void>; transactionId: string | null }>

/** The options of a writer. */
interface WriterOptions {
  readonly url: string
  /** The time that a statement of a change may take, in milliseconds. */
  readonly statementMs: number
  /** True if statements are prepared. A pooler that shares sessions cannot keep them. */
  readonly prepares: boolean
  /** The guard of a database that is for one daemon alone. Null in a fleet. */
  readonly guard: OneDaemon | null
}

/**
 * Runs changes on a few connections. Each change begins by one message that
 *
 * * takes the lock of its scope for the transaction, so that changes of the same scope run one
 *   after another, whichever daemon makes them. Later statements see what was committed before
 *   (`READ COMMITTED`). A stricter isolation would decide by the state before the wait;
 * * increments the number in the row of its connection, by which another connection sees after a
 *   break if the commit was made;
 * * finds the name of this daemon, if the database is for one daemon alone.
 *
 * Changes of this process with the same scope wait here, and occupy no connection meanwhile.
 */
export class Writer {
  readonly #options: WriterOptions
  readonly #sessions: ChangeSessions
  readonly #turns = new KeyedLock()
  #isClosed = false

  constructor(options: WriterOptions) {
    this.#options = options
    this.#sessions = new ChangeSessions(options)
  }

  /**
   * Begins a change when the earlier ones of its scope have ended. The caller commits it or rolls
   * it back, once.
   */
  async begin(alone: Alone): Promise<ChangeUnderWay> {
    return this.#inTurn(alone, async (held) => {
      const change = await this.#first(held, alone)
      return { commit: () => this.#commit(held, change), transactionId: change.transactionId }
    })
  }

  /** Begins reads of one moment. */
  async beginReading(): Promise<ChangeUnderWay> {
    return this.#inTurn({ type: 'row' }, async ({ session }) => {
      await session.script('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      return { commit: async () => void (await session.script('COMMIT')), transactionId: null }
    })
  }

  /** Runs a change. Runs it again if a collision or a break of the connection has undone it. */
  async run<Result>(change: () => Promise<Result>): Promise<Result> {
    for (let run = 1; ; run += 1) {
      try {
        return await change()
      } catch (error) {
        if (isLockTimeout(error)) throw busy(error)
        // Another change may have written in between: the next run reads it.
        const refused = isRefusedByConstraint(error)
        if (!(refused || error instanceof Undone || error instanceof ConnectionLost || isCollision(error))) throw error
        if (run >= maxRuns) throw refused ? error : unreachable(error)
      }
    }
  }

  /** Waits until the transactions that write now have ended. Rejects after `timeoutMs`. */
  async ended(timeoutMs: number): Promise<void> {
    const deadline = Date.now() + timeoutMs
    const session = await this.#sessions.extra()
    try {
      let left = await transactionsUnderWay(session)
      for (let pause = retryMs.first; left.length > 0; pause = Math.min(2 * pause, retryMs.longest)) {
        if (Date.now() > deadline) throw new Error(`${left.length} changes have not ended in ${timeoutMs} ms`)
        await sleep(pause)
        left = await transactionsUnderWay(session, left)
      }
    } finally {
      await session.close()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#sessions.close()
  }

  /** Waits for the turn of a change in this process, and for a connection. Begins it there. */
  async #inTurn(alone: Alone, begin: Begin): Promise<ChangeUnderWay> {
    const asked = Date.now()
    const { promise: over, resolve: end } = Promise.withResolvers<void>()
    const { promise: begun, resolve, reject } = Promise.withResolvers<ChangeUnderWay>()
    const inTurn = async () => {
      try {
        resolve(await this.#onSession(asked, end, begin))
        await over
      } catch (error) {
        reject(error)
      }
    }
    if (alone.type === 'row') void inTurn()
    else void this.#turns.run(alone.type === 'service' ? 'service' : `project ${alone.projectId}`, inTurn)
    return begun
  }

  /**
   * Begins a change on a connection. A connection that breaks at that is replaced, also after all
   * that were idle have broken.
   */
  async #onSession(asked: number, end: () => void, begin: Begin): Promise<ChangeUnderWay> {
    for (let attempt = 1; ; attempt += 1) {
      const { session, connection, release: giveBack } = await this.#sessions.take(asked)
      const release = () => {
        giveBack()
        end()
      }
      try {
        const { commit, transactionId } = await begin({ session, connection, release })
        return {
          query: (sql, values) => session.query(sql, values),
          commit: () => commit().finally(release),
          rollback: () => this.#rollback(session, transactionId).finally(release),
        }
      } catch (error) {
        // If this fails, the connection is lost and no transaction is open.
        await session.script('ROLLBACK').catch(() => undefined)
        giveBack()
        if (!(error instanceof ConnectionLost) || attempt > connections) throw error
      }
    }
  }

  /** Opens a transaction that is alone with its scope. Counts it in the row of the connection. */
  async #first({ session, connection }: HeldSession, alone: Alone): Promise<CountedChange> {
    const { guard } = this.#options
    const { rows } = await session.script(`
      BEGIN ISOLATION LEVEL READ COMMITTED;
      WITH counted AS (
        UPDATE holt_commits SET change = change + 1 WHERE connection = ${escapeLiteral(connection)} RETURNING change
      )
      SELECT ${settings}, ${lockOf(alone)}pg_current_xact_id()::text AS id, (SELECT change FROM counted) AS number
      ${guard?.from ?? ''}`)
    const row = rows[0] as { id: string; number: number | null } | undefined
    if (row === undefined) throw guard?.taken() ?? new Error('the database did not begin a transaction')
    if (row.number === null) throw new Error('the database has lost the number of a change')
    return { connection, number: row.number, transactionId: row.id }
  }

  async #commit({ session, release }: HeldSession, change: CountedChange): Promise<void> {
    try {
      const { command } = await session.script('COMMIT')
      // COMMIT rolls back a transaction in which a statement has failed. The server does not
      // treat that as an error.
      if (command !== 'COMMIT') throw new StatementError('the transaction had failed before', '25P02')
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      release()
      if (!(await this.#wasKept(change))) throw new Undone(error.message)
    }
  }

  async #rollback(session: Session, transactionId: string | null): Promise<void> {
    // The connection is gone, and with it the transaction.
    await session.script('ROLLBACK').catch(() => undefined)
    if (session.isLost && transactionId !== null) this.#sessions.abandon(transactionId)
  }

  /**
   * Returns true if a commit was made although its answer was lost. This is unknown until the
   * database is back, and a late answer is better than a wrong one.
   */
  async #wasKept(change: CountedChange): Promise<boolean> {
    for (let pause = retryMs.first; ; pause = Math.min(2 * pause, retryMs.longest)) {
      if (this.#isClosed) throw new Error('the store is closed')
      const kept = await this.#outcome(change)
      if (kept !== null) return kept
      await sleep(pause)
    }
  }

  async #outcome(change: CountedChange): Promise<boolean | null> {
    let session: Session | null = null
    try {
      session = await this.#sessions.extra()
      return await wasCommitted(session, change)
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      return null
    } finally {
      await session?.close()
    }
  }
}

/** Returns the expression that takes the lock of a scope, with a comma. Empty if there is none. */
function lockOf(alone: Alone): string {
  switch (alone.type) {
    case 'row':
      return ''
    case 'service':
      return `${locked.service}, `
    case 'project':
      return `${locked.project.join(escapeLiteral(alone.projectId))}, `
  }
}

async function sleep(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms).unref())
}
