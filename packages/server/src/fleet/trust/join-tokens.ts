import { createHash, randomBytes } from 'node:crypto'
import { randomText } from '@holt/protocol'
import type { Foundation } from '../../foundation/foundation.ts'
import { isSameSecret } from '../../foundation/sealing/is-same-secret.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { JoinTokenRow } from '../../foundation/store/tables.ts'

type Parts = Pick<Foundation, 'store' | 'now'>

/** How a token may be used. */
export interface JoinTokenTerms {
  readonly ttlMs: number
  /** One join, or each join until the token ends. */
  readonly uses: 'once' | 'until it ends'
}

/** The part of a token that the store can check. */
export interface JoinTokenProof {
  readonly id: string
  readonly secret: string
}

/** A token that was made. Its secret is stored nowhere. */
export interface MadeJoinToken extends JoinTokenProof {
  readonly row: JoinTokenRow
}

/** Makes a token, and removes those that have ended. */
export async function makeJoinToken({ store, now }: Parts, { ttlMs, uses }: JoinTokenTerms): Promise<MadeJoinToken> {
  const secret = randomBytes(32).toString('base64url')
  const at = now()
  const row: JoinTokenRow = {
    token_id: `jt${randomText(20)}`,
    digest: digestOf(secret),
    is_single_use: uses === 'once' ? 1 : 0,
    created_at: at,
    expires_at: at + ttlMs,
  }
  await store.change(aloneWithRow, async (changes) => {
    await changes.deleteFrom('join_tokens').where('expires_at', '<=', at).execute()
    await changes.insertInto('join_tokens').values(row).execute()
  })
  return { id: row.token_id, secret, row }
}

/** Returns the tokens that have not ended, the newest first. */
export function listJoinTokens({ store, now }: Parts): Promise<JoinTokenRow[]> {
  return store.db
    .selectFrom('join_tokens')
    .selectAll()
    .where('expires_at', '>', now())
    .orderBy('created_at', 'desc')
    .orderBy('token_id')
    .execute()
}

/** Ends a token. Hosts that have joined with it stay. Returns false if there is no such token. */
export async function revokeJoinToken({ store }: Pick<Parts, 'store'>, id: string): Promise<boolean> {
  const removed = await store.change(aloneWithRow, (changes) =>
    changes.deleteFrom('join_tokens').where('token_id', '=', id).returning('token_id').executeTakeFirst(),
  )
  return removed !== undefined
}

/**
 * Uses a token, in the change of a join. Returns false if there is no such token, its secret is
 * another one, or it has ended. A token for one join is removed.
 */
export async function useJoinToken(changes: Queries, { id, secret }: JoinTokenProof, now: number): Promise<boolean> {
  const row = await changes.selectFrom('join_tokens').selectAll().where('token_id', '=', id).executeTakeFirst()
  if (row === undefined || !isSameSecret(digestOf(secret), row.digest) || row.expires_at <= now) return false
  if (row.is_single_use === 0) return true
  // Of two joins at once, one removes the row.
  const used = await changes
    .deleteFrom('join_tokens')
    .where('token_id', '=', id)
    .returning('token_id')
    .executeTakeFirst()
  return used !== undefined
}

/** The secret has 256 random bits, so a quick digest is enough. */
function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
