import { createHash, randomBytes } from 'node:crypto'
import type { Foundation } from '../../foundation/foundation.ts'
import { isSameSecret } from '../../foundation/sealing/is-same-secret.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { JoinTokenRow } from '../../foundation/store/tables.ts'

type Parts = Pick<Foundation, 'store' | 'now'>

/** The id of a token, and how it may be used. */
export interface JoinTokenTerms {
  readonly id: string
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
export async function makeJoinToken(
  { store, now }: Parts,
  { id, ttlMs, uses }: JoinTokenTerms,
): Promise<MadeJoinToken> {
  const secret = randomBytes(32).toString('base64url')
  const at = now()
  const row: JoinTokenRow = {
    token_id: id,
    digest: digestOf(secret),
    is_single_use: uses === 'once' ? 1 : 0,
    created_at: at,
    expires_at: at + ttlMs,
    uses: 0,
  }
  await store.change(aloneWithRow, async (changes) => {
    await changes.deleteFrom('join_tokens').where('expires_at', '<=', at).execute()
    // The same id is a repeated request whose answer was lost. Nobody has the earlier secret.
    await changes.deleteFrom('join_tokens').where('token_id', '=', id).execute()
    await changes.insertInto('join_tokens').values(row).execute()
  })
  return { id, secret, row }
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
 * Returns the row of a token that lets workers join now. Undefined if there is no such token, its
 * secret is another one, or it has ended.
 */
export async function findUsableToken(
  db: Queries,
  { id, secret }: JoinTokenProof,
  now: number,
): Promise<JoinTokenRow | undefined> {
  const row = await db.selectFrom('join_tokens').selectAll().where('token_id', '=', id).executeTakeFirst()
  return row !== undefined && isSameSecret(digestOf(secret), row.digest) && row.expires_at > now ? row : undefined
}

/**
 * Uses a token, in the change of a join: counts the join, or removes a token for one join. Returns
 * false if the token does not let workers join.
 */
export async function useJoinToken(changes: Queries, proof: JoinTokenProof, now: number): Promise<boolean> {
  const row = await findUsableToken(changes, proof, now)
  if (row === undefined) return false
  const { token_id: id, uses } = row
  // Of two joins at once, one removes the row of a token for one join.
  const used = await (row.is_single_use === 1
    ? changes.deleteFrom('join_tokens').where('token_id', '=', id).returning('token_id')
    : changes
        .updateTable('join_tokens')
        .set({ uses: uses + 1 })
        .where('token_id', '=', id)
        .returning('token_id')
  ).executeTakeFirst()
  return used !== undefined
}

/** The secret has 256 random bits, so a quick digest is enough. */
function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
