import { HoltError, type Scope } from '@holt/protocol'
import { type Caller, hasScopeOf } from '../../foundation/request/caller.ts'
import { isSameSecret } from '../../foundation/sealing/is-same-secret.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { KeyRow } from '../../foundation/store/tables.ts'
import type { ConsoleClaim } from '../console/console-cookie.ts'
import type { Tenancy } from '../tenancy.ts'
import { authenticateSession } from './authenticate-session.ts'
import { scopesOf } from './key-scopes.ts'
import { digestOf, isSecret, prefixOf, sentSecret } from './key-secret.ts'

/**
 * The proof of a request: an `Authorization` header, or a session of the console. `proofOf` makes
 * the latter after it has checked that a page of this service sent it.
 */
export type Proof = string | ConsoleClaim | undefined

/**
 * The least interval between two writes of a key's `last_used_at`, so that most reads do not write.
 */
const lastUsedStepMs = 60_000

/**
 * Returns the caller of a request by its proof. A revoked, replaced or damaged key
 * gets the same error as an unknown one. Only a client that sends the whole secret of an expired
 * key learns that it has expired.
 */
export async function authenticate(service: Tenancy, proof: Proof): Promise<Caller> {
  if (typeof proof === 'object') return authenticateSession(service, proof)
  const secret = sentSecret(proof)
  if (secret === null) throw new HoltError('unauthenticated', 'The request has no API key.')
  const digest = digestOf(secret)
  const { clears } = service.recentKeys
  const row = await findKey(service, digest)
  const key = row !== null && isValid(row, digest, service.now()) ? row : null
  const scopes = key === null ? null : scopesOf(key)
  if (key === null || scopes === null) {
    service.likelyProjects.forget(digest)
    throw row !== null && hasExpired(row, digest, service.now()) ? expired(row) : unknown(secret)
  }
  service.likelyProjects.note(digest, key.project_id)
  noteUse(service, digest, { key, clears })
  return {
    projectId: key.project_id,
    keyId: key.key_id,
    keyName: key.name,
    keyVersion: isSameSecret(key.digest, digest) ? key.version : key.version - 1,
    scopes: new Set(scopes),
  }
}

/** Throws `forbidden` if a caller's key lacks a scope. */
export function requireScope(caller: Caller, scope: Scope | 'any'): void {
  if (scope === 'any' || hasScopeOf(caller.scopes, scope)) return
  throw new HoltError('forbidden', `This key lacks the scope ${scope}.`, { details: { scope } })
}

/** Returns the key that has or had a secret, valid or not. Returns null if there is none. */
async function findKey({ store, recentKeys, now, log }: Tenancy, digest: string): Promise<KeyRow | null> {
  const { clears } = recentKeys
  const recent = recentKeys.get(digest)
  const row =
    recent ??
    (await store.db
      .selectFrom('keys')
      .selectAll()
      .where(({ eb, or }) => or([eb('digest', '=', digest), eb('previous_digest', '=', digest)]))
      .executeTakeFirst())
  if (row === undefined) return null
  if (!isValid(row, digest, now())) return row
  recentKeys.set(digest, row, clears)
  if (recent === null && scopesOf(row) === null)
    log.error({ key_id: row.key_id }, 'a key is damaged and refused: revoke it, and make a new one')
  return row
}

function isValid(row: KeyRow, digest: string, now: number): boolean {
  if (row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= now)) return false
  if (isSameSecret(row.digest, digest)) return true
  return isSameSecret(row.previous_digest ?? '', digest) && row.previous_until !== null && row.previous_until > now
}

/** Notes the last use of a key. No caller waits for it, and a power loss may lose it. */
function noteUse(
  { store, recentKeys, now, log }: Tenancy,
  digest: string,
  { key, clears }: { readonly key: KeyRow; readonly clears: number },
): void {
  const at = now()
  if (key.last_used_at !== null && at - key.last_used_at < lastUsedStepMs) return
  recentKeys.set(digest, { ...key, last_used_at: at }, clears)
  const note = (changes: Queries) =>
    changes
      .updateTable('keys')
      .set({ last_used_at: at })
      .where('project_id', '=', key.project_id)
      .where('key_id', '=', key.key_id)
      .execute()
  store.change(aloneWithRow, note, { durable: 'later' }).catch((error: unknown) => {
    // Reads continue on a full disk. `last_used_at` does not justify the refusal of a request.
    log.warn({ err: error }, 'last_used_at could not be written')
  })
}

/** Returns true if a key is invalid only because it has expired. */
function hasExpired(row: KeyRow, digest: string, now: number): boolean {
  return row.expires_at !== null && row.expires_at <= now && isValid({ ...row, expires_at: null }, digest, now)
}

function expired({ prefix, expires_at }: KeyRow): HoltError {
  const at = moment(expires_at ?? 0)
  return new HoltError('unauthenticated', `The API key ${prefix}... expired at ${at}.`, {
    hint: 'Use another key: an expired key cannot be renewed.',
    details: { expired_at: at },
  })
}

function unknown(secret: string): HoltError {
  // A text that is no key secret is not repeated. It may be a password that was sent by mistake.
  const which = isSecret(secret) ? ` ${prefixOf(secret)}...` : ''
  return new HoltError('unauthenticated', `The API key${which} is not known here.`)
}
