import { randomBytes } from 'node:crypto'
import type { Session } from './session.ts'

/** A connection that counts its changes in a row of its own. */
export interface CountedSession {
  readonly session: Session
  /** The name of its row. */
  readonly connection: string
}

/** A change of a connection, and its transaction. */
export interface CountedChange {
  readonly connection: string
  readonly number: number
  readonly transactionId: string
}

/**
 * Makes the row in which a connection counts its changes. The name of the row begins with the role:
 * a worker of a fleet writes those of its own role alone.
 */
export async function counted(session: Session): Promise<CountedSession> {
  const { rows } = await session.query(
    `INSERT INTO holt_commits (connection, change) VALUES (session_user || '/' || $1::text, 0) RETURNING connection`,
    [randomBytes(10).toString('hex')],
  )
  const [{ connection }] = rows as [{ connection: string }]
  return { session, connection }
}

/**
 * Returns true if a change was committed, when its transaction has ended. The row of the connection
 * says so, and not `pg_xact_status`: after a crash, the server gives the id of a transaction whose
 * log it has lost to another one.
 */
export async function wasCommitted(session: Session, change: CountedChange): Promise<boolean> {
  await endTransaction(session, change.transactionId)
  // Waits for a commit that the server is making.
  const { rows } = await session.query('SELECT change FROM holt_commits WHERE connection = $1 FOR UPDATE', [
    change.connection,
  ])
  const row = rows[0] as { change: number } | undefined
  return row !== undefined && row.change >= change.number
}

/**
 * Ends a transaction whose client is gone, if the server still waits for its next statement.
 * Success if it has ended.
 */
export async function endTransaction(session: Session, transactionId: string): Promise<void> {
  await session.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE backend_xid = $1::text::xid8::xid AND state LIKE 'idle in transaction%'`,
    [transactionId],
  )
}

/**
 * Returns the transactions of this database that have begun to write and not ended, or those of a
 * list.
 */
export async function transactionsUnderWay(
  session: Session,
  among: readonly string[] | null = null,
): Promise<readonly string[]> {
  const { rows } = await session.query(
    `SELECT backend_xid::text AS id FROM pg_stat_activity
    WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()
      AND ($1::text[] IS NULL OR backend_xid::text = ANY ($1::text[]))`,
    [among],
  )
  return (rows as readonly { id: string }[]).map(({ id }) => id)
}
