import type { Session } from './session.ts'

/**
 * The first half of the lock's key, "holt" in ASCII; the second is the schema that the tables are
 * in.
 */
const lockClass = 0x686f6c74

/**
 * How long the end of another session is waited for: of one that was told to end, or that a daemon
 * has left which was killed a moment ago.
 */
const endingMs = 3_000

/** What a session of a daemon calls itself: by it a daemon knows its own earlier session. */
export function sessionName(daemonId: string): string {
  return `holtd ${daemonId}`
}

/**
 * Takes the database for a daemon, for as long as the session lasts
 * (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS). A session of the
 * same daemon that the server does not know to be broken is ended first; when the lock is free, its
 * last transaction is decided. Answers false where another daemon has it and keeps it.
 */
export async function takeDatabase(session: Session, daemonId: string): Promise<boolean> {
  const deadline = Date.now() + endingMs
  for (;;) {
    const { rows } = await session.query(`SELECT pg_try_advisory_lock($1::int, hashtext(current_schema())) AS taken`, [
      lockClass,
    ])
    if ((rows[0] as { taken: boolean | null }).taken === true) return true
    if (Date.now() > deadline) return false
    await endOwn(session, daemonId)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Ends the holder of the lock where it is a session of this daemon. */
async function endOwn(session: Session, daemonId: string): Promise<void> {
  const { rows } = await session.query(
    `SELECT pid, application_name AS name FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND classid = $1::oid AND objsubid = 2
      AND objid::bigint = hashtext(current_schema())::bigint & 4294967295
      AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [lockClass],
  )
  const holder = rows[0] as { pid: number; name: string | null } | undefined
  if (holder?.name === sessionName(daemonId)) await session.query('SELECT pg_terminate_backend($1)', [holder.pid])
}
