import { daemonClass, schemaHash } from './advisory-locks.ts'
import type { Session } from './session.ts'

/**
 * The time to wait for the end of another session, in milliseconds. That session was told to end,
 * or its daemon was killed a moment ago.
 */
const endingMs = 3_000

/** Returns the name of a daemon's session. By it a daemon recognises its own earlier session. */
export function sessionName(daemonId: string): string {
  return `holtd ${daemonId}`
}

/**
 * Takes the lock of the database for a daemon, for as long as the session lasts. If an earlier
 * session of the same daemon still holds the lock, ends that session. Returns false if another
 * daemon keeps the lock.
 */
export async function takeDatabase(session: Session, daemonId: string): Promise<boolean> {
  const deadline = Date.now() + endingMs
  for (;;) {
    const { rows } = await session.query(`SELECT pg_try_advisory_lock($1::int, ${schemaHash}) AS taken`, [daemonClass])
    if ((rows[0] as { taken: boolean | null }).taken === true) return true
    if (Date.now() > deadline) return false
    await endOwn(session, daemonId)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Ends the holder of the lock if it is a session of this daemon. */
async function endOwn(session: Session, daemonId: string): Promise<void> {
  const { rows } = await session.query(
    `SELECT pid, application_name AS name FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND classid = $1::oid AND objsubid = 2
      AND objid::bigint = ${schemaHash}::bigint & 4294967295
      AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [daemonClass],
  )
  const holder = rows[0] as { pid: number; name: string | null } | undefined
  if (holder?.name === sessionName(daemonId)) await session.query('SELECT pg_terminate_backend($1)', [holder.pid])
}
