import { createHash, randomBytes } from 'node:crypto'
import type { Foundation } from '../../foundation/foundation.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { aloneWith, aloneWithRow } from '../../foundation/store/alone.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { ConsoleSessionRow } from '../../foundation/store/tables.ts'
import type { ConsoleClaim } from './console-cookie.ts'

type Parts = Pick<Foundation, 'store' | 'now' | 'log'>

/** The time after its last use when a session ends, in milliseconds. */
const idleMs = 15 * 60_000

/** The time after which a person signs in again in any case, in milliseconds. */
const longestMs = 12 * 60 * 60_000

/** The least interval between two renewals, so that most requests do not write. */
const renewalStepMs = 60_000

/** The maximum number of sessions of one key. The oldest end first. */
const mostSessions = 32

/**
 * Returns the digest under which a session is stored. Both tokens have 256 random bits and one
 * length. A cookie without the page's token is worthless.
 */
export function sessionDigest({ token, page }: Pick<ConsoleClaim, 'token' | 'page'>): string {
  return createHash('sha256').update(token).update(page).digest('hex')
}

/** Returns the time when a session ends, however it is used. */
export function lastMoment({ created_at }: Pick<ConsoleSessionRow, 'created_at'>): number {
  return created_at + longestMs
}

/** Starts a session of a key for a page. Returns the token, which is stored nowhere. */
export async function beginSession(
  { store, now }: Parts,
  { projectId, keyId, keyVersion }: Pick<Caller, 'projectId' | 'keyId' | 'keyVersion'>,
  page: string,
): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  const at = now()
  await store.change(aloneWith(projectId), async (changes) => {
    await changes
      .insertInto('console_sessions')
      .values({
        digest: sessionDigest({ token, page }),
        project_id: projectId,
        key_id: keyId,
        key_version: keyVersion,
        created_at: at,
        expires_at: at + idleMs,
      })
      .execute()
    const older = changes
      .selectFrom('console_sessions')
      .select('digest')
      .where('project_id', '=', projectId)
      .where('key_id', '=', keyId)
      .orderBy('created_at', 'desc')
      .orderBy('digest')
      .limit(mostSessions)
    await changes
      .deleteFrom('console_sessions')
      .where('project_id', '=', projectId)
      .where('key_id', '=', keyId)
      .where('digest', 'not in', older)
      .execute()
  })
  return token
}

/** Returns the session of a key with a token, unless it has ended. */
export async function findSession(
  db: Queries,
  claim: ConsoleClaim,
  at: number,
): Promise<ConsoleSessionRow | undefined> {
  return db
    .selectFrom('console_sessions')
    .selectAll()
    .where('digest', '=', sessionDigest(claim))
    .where('key_id', '=', claim.keyId)
    .where('expires_at', '>', at)
    .executeTakeFirst()
}

/** Renews a session that is used. No caller waits for it, and a power loss may lose it. */
export function renewSession({ store, now, log }: Parts, session: ConsoleSessionRow): void {
  const at = now()
  const expiresAt = Math.min(at + idleMs, lastMoment(session))
  if (expiresAt - session.expires_at < renewalStepMs) return
  const renew = async (changes: Queries) => {
    await changes
      .updateTable('console_sessions')
      .set({ expires_at: expiresAt })
      .where('project_id', '=', session.project_id)
      .where('digest', '=', session.digest)
      .execute()
    await changes
      .updateTable('keys')
      .set({ last_used_at: at })
      .where('project_id', '=', session.project_id)
      .where('key_id', '=', session.key_id)
      .execute()
  }
  store.change(aloneWithRow, renew, { durable: 'later' }).catch((error: unknown) => {
    // Reads continue on a full disk. The session ends early then, and the person signs in again.
    log.warn({ err: error }, 'a session of the console could not be renewed')
  })
}

/** Ends a session, by the digest of its token. Only its holder knows that. */
export async function endSession({ store }: Pick<Parts, 'store'>, digest: string): Promise<void> {
  await store.change(aloneWithRow, (changes) =>
    changes.deleteFrom('console_sessions').where('digest', '=', digest).execute(),
  )
}

/** Removes sessions that have ended. */
export async function removeOldSessions({ store, now }: Pick<Parts, 'store' | 'now'>): Promise<void> {
  await store.db.deleteFrom('console_sessions').where('expires_at', '<=', now()).execute()
}
