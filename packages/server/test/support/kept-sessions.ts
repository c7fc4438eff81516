import { Semaphore } from '@holt/async'
import { Session } from '../../src/foundation/store/postgres/session.ts'

interface Kept {
  readonly session: Promise<Session>
  readonly turns: Semaphore
}

/** By the address of a database. They end with this process. */
const sessions = new Map<string, Kept>()

/**
 * Asks statements over a connection that is kept for the next ones: making one takes longer than
 * most statements, and the first to use a table over each reads the catalogues anew.
 */
// biome-ignore lint/suspicious/noExplicitAny: tests look into rows of every shape
export async function askAgain(url: string, sql: string): Promise<readonly any[]> {
  const { session, turns } = sessions.get(url) ?? keep(url)
  return (await turns.run(async () => (await session).script(sql))).rows
}

function keep(url: string): Kept {
  const kept = { session: Session.open(url, 'test'), turns: new Semaphore(1) }
  sessions.set(url, kept)
  // After a break, the next caller makes a new session.
  const forget = () => sessions.delete(url)
  kept.session.then(({ lost }) => lost).then(forget, forget)
  return kept
}
