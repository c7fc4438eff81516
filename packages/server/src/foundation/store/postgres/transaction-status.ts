import { StatementError } from './errors.ts'
import type { Session } from './session.ts'

/**
 * Returns true if a transaction was committed, and false if it was rolled back. Null: it has not
 * ended (https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT).
 * Throws if it ended so long ago that the server does not know it any more.
 */
export async function wasCommitted(session: Session, transactionId: string): Promise<boolean | null> {
  const status = await statusOf(session, transactionId)
  if (status === 'in progress') return null
  if (status === null) throw new Error(`the outcome of the transaction ${transactionId} is not known any more`)
  return status === 'committed'
}

async function statusOf(session: Session, transactionId: string): Promise<string | null> {
  try {
    const { rows } = await session.query('SELECT pg_xact_status($1::text::xid8) AS status', [transactionId])
    return (rows[0] as { status: string | null }).status
  } catch (error) {
    // A standby that became the primary has never heard of a transaction that it had not received.
    if (error instanceof StatementError && error.sqlstate === '22023') return 'aborted'
    throw error
  }
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
