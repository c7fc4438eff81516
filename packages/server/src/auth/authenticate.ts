import { timingSafeEqual } from 'node:crypto'
import { HoltError, type Scope } from '@holt/protocol'
import type { Service } from '../service.ts'
import type { KeyRow } from '../store/tables.ts'
import { digestOf } from './key-secret.ts'

/** Who sent a request: the project comes from the key. */
export interface Caller {
  readonly projectId: string
  readonly keyId: string
  readonly scopes: ReadonlySet<Scope>
}

/** `last_used_at` is written at most this often per key, so that reading does not mean writing. */
const lastUsedStepMs = 60_000

/** Finds the caller of a request by its `Authorization` header. A missing key and a wrong one get the same answer. */
export async function authenticate(service: Service, header: string | undefined): Promise<Caller> {
  const secret = /^Bearer +([\x21-\x7e]{1,200})$/i.exec(header ?? '')?.[1]
  if (secret === undefined) throw unauthenticated()
  const key = await findKey(service, digestOf(secret))
  if (key === null) throw unauthenticated()
  await noteUse(service, key)
  return { projectId: key.project_id, keyId: key.key_id, scopes: new Set(JSON.parse(key.scopes_json) as Scope[]) }
}

/** Refuses a caller whose key lacks a scope. `admin` has every one. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.has(scope) || caller.scopes.has('admin')) return
  throw new HoltError('forbidden', `This key lacks the scope ${scope}.`, { details: { scope } })
}

async function findKey({ store, recentKeys, now }: Service, digest: string): Promise<KeyRow | null> {
  const row =
    recentKeys.get(digest) ??
    (await store.db.selectFrom('keys').selectAll().where('digest', '=', digest).executeTakeFirst())
  if (row === undefined || !timingSafeEqual(Buffer.from(row.digest), Buffer.from(digest))) return null
  if (row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= now())) return null
  recentKeys.set(row)
  return row
}

async function noteUse({ store, recentKeys, now, log }: Service, key: KeyRow): Promise<void> {
  const at = now()
  if (key.last_used_at !== null && at - key.last_used_at < lastUsedStepMs) return
  recentKeys.set({ ...key, last_used_at: at })
  try {
    await store.db
      .updateTable('keys')
      .set({ last_used_at: at })
      .where('project_id', '=', key.project_id)
      .where('key_id', '=', key.key_id)
      .execute()
  } catch (error) {
    // On a full disk reads go on: when a key was used last is not worth refusing a request.
    log.warn({ err: error }, 'last_used_at could not be written')
  }
}

function unauthenticated(): HoltError {
  return new HoltError('unauthenticated', 'The request has no valid API key.')
}
