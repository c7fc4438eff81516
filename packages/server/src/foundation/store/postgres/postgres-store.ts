import { failpoint } from '@holt/failpoints'
import { Kysely, sql } from 'kysely'
import { inTransaction } from '../changes.ts'
import type { DatabaseUser, Store } from '../open-store.ts'
import type { Tables } from '../tables.ts'
import { locked } from './advisory-locks.ts'
import { awaitSchema } from './await-schema.ts'
import { postgresDialect, scopeOfNext } from './dialect.ts'
import { joinFleet, OneDaemon } from './guard.ts'
import { Readers } from './readers.ts'
import { timeoutMs } from './session.ts'
import { sharesSessions } from './shared-sessions.ts'
import { Writer } from './writer.ts'

/** The options of a PostgreSQL store. */
interface PostgresStoreOptions {
  readonly url: string
  /** True if several daemons share the database. Default: it is for this daemon alone. */
  readonly fleet?: boolean
  readonly as?: DatabaseUser
  /** Called once when another daemon has taken a database that is for this one alone. */
  readonly onTaken: (error: Error) => void
  /**
   * The time that a statement of a change may take, in milliseconds. After it the connection counts
   * as broken. Migrations have no bound.
   */
  readonly statementMs?: number
}

/**
 * Opens a database of PostgreSQL 15 or newer, and makes and migrates its tables as needed. A worker
 * waits for that instead. Every change is durable when it resolves, as far as the server's own
 * settings allow. That includes changes with `durable: 'later'`: the server is another machine, and
 * does not end together with the thing that a change is about.
 */
export async function openPostgresStore({
  url,
  fleet = false,
  as = 'owner',
  onTaken,
  statementMs = timeoutMs.statement,
}: PostgresStoreOptions): Promise<Store> {
  const isShared = await sharesSessions(url)
  if (isShared && !fleet) throw new Error(needsOwnSessions)
  if (as === 'worker') await awaitSchema(url)
  else if (fleet) await joinFleet(url)
  const prepares = !isShared
  const guard = fleet ? null : await OneDaemon.take({ url, onTaken })
  const writer = new Writer({ url, statementMs, prepares, guard })
  const readers = new Readers({ url, applicationName: 'holtd reader', ownSessions: !fleet, prepares })
  const db = new Kysely<Tables>({ dialect: postgresDialect(writer, readers) })
  let closing: Promise<unknown> | null = null
  return {
    type: 'postgres',
    db,
    change: async (alone, run) => {
      await failpoint('store.change')
      const change = () => inTransaction(db, { alone, enter }, run)
      const result = await writer.run(() => scopeOfNext.run(alone, change))
      await failpoint('store.committed')
      return result
    },
    atOneMoment: (read) =>
      writer.run(() => db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(read)),
    changesEnded: (timeoutMs = endedTimeoutMs) => writer.ended(timeoutMs),
    settled: async () => {},
    refillReserve: () => {},
    close: async () => {
      closing ??= db.destroy().then(() => Promise.all([readers.close(), writer.close(), guard?.close()]))
      await closing
    },
  }
}

/** The error of a daemon without a fleet, whose lock of the database belongs to a session. */
const needsOwnSessions =
  'HOLT_DATABASE_URL is the address of a pooler that gives each transaction another session, and the lock of the ' +
  'database belongs to a session. Use the address of PostgreSQL itself, or set pool_mode = session in PgBouncer'

/** The time that a call waits for the changes under way, in milliseconds. They are short. */
const endedTimeoutMs = 60_000

/** Waits until a transaction is alone in a project. */
async function enter(transaction: Kysely<Tables>, projectId: string): Promise<void> {
  const [before, after] = locked.project
  await sql`SELECT ${sql.raw(before)}${projectId}::text${sql.raw(after)}`.execute(transaction)
}
