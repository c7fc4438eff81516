import { Session } from './session.ts'

/** The number of looks. One is enough unless other clients of the pooler take part. */
const looks = 3

/**
 * Returns true if a pooler gives each transaction another session of the server, as PgBouncer does
 * with `pool_mode = transaction`. Two connections look which sessions they get: such a pooler gives
 * the session of an idle client to the next one that needs a session.
 */
export async function sharesSessions(url: string): Promise<boolean> {
  await using connections = new AsyncDisposableStack()
  const open = async () => {
    const session = await Session.open(url, 'holtd')
    connections.defer(() => session.close())
    return session
  }
  const [one, other] = [await open(), await open()]
  for (let look = 0; look < looks; look++) {
    const before = await sessionOf(one)
    await other.script('BEGIN')
    const taken = await sessionOf(other)
    // A pooler with a single session would keep this waiting.
    if (taken === before) return true
    const after = await sessionOf(one)
    await other.script('ROLLBACK')
    if (after !== before) return true
  }
  return false
}

/** Returns the number of the server's process behind a connection. */
async function sessionOf(connection: Session): Promise<number> {
  const { rows } = await connection.script('SELECT pg_backend_pid() AS pid')
  return (rows[0] as { pid: number }).pid
}
