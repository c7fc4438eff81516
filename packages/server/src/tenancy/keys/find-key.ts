import { HoltError, isIdParam } from '@holt/protocol'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { type Alone, aloneWith, aloneWithService } from '../../foundation/store/alone.ts'
import type { Changes, Queries } from '../../foundation/store/open-store.ts'
import type { KeyRow } from '../../foundation/store/tables.ts'
import { hasScope } from '../auth/key-scopes.ts'
import { findProject } from '../projects/find-project.ts'

/**
 * Selects the keys that a caller may see and that are not revoked. They are its project's, or all
 * for an operator.
 */
function keysOf(db: Queries, { projectId, scopes }: Pick<Caller, 'projectId' | 'scopes'>) {
  const keys = db.selectFrom('keys').selectAll().where('revoked_at', 'is', null)
  return scopes.has('operator') ? keys : keys.where('project_id', '=', projectId)
}

/** Returns a key that a caller may see. A key of another project is not found. */
export async function findKey(db: Queries, caller: Caller, keyId: string): Promise<KeyRow> {
  const row = isIdParam('key_id', keyId)
    ? await keysOf(db, caller).where('key_id', '=', keyId).executeTakeFirst()
    : undefined
  if (row === undefined) throw idNotFound('key_not_found', keyId)
  return row
}

/**
 * Returns a key that a caller may rotate and revoke. Only operators may change a key with
 * `operator`. Its secret makes its holder an operator, and its removal locks operators out.
 */
async function findKeyToChange(db: Queries, caller: Caller, keyId: string): Promise<KeyRow> {
  const row = await findKey(db, caller, keyId)
  if (!hasScope(row, 'operator') || caller.scopes.has('operator')) return row
  throw new HoltError('forbidden', 'Only a key with the scope operator can change a key with that scope.', {
    details: { scope: 'operator' },
  })
}

/** Returns the scope of a change of a key. An operator may change the keys of every project. */
export function scopeOfKeys({ projectId, scopes }: Pick<Caller, 'projectId' | 'scopes'>): Alone {
  return scopes.has('operator') ? aloneWithService : aloneWith(projectId)
}

/**
 * Returns a key that a caller may rotate and revoke, in a change with the scope of the caller's
 * keys. The change is alone with the keys of its project then.
 */
export async function enterKey(changes: Changes, caller: Caller, keyId: string): Promise<KeyRow> {
  const found = await findKeyToChange(changes, caller, keyId)
  return (await changes.enterProject(found.project_id)) ? findKeyToChange(changes, caller, keyId) : found
}

/** Returns the project of the keys: the caller's own, or the one that an operator names. */
export async function projectOfKeys(db: Queries, caller: Caller, named: string | undefined): Promise<string> {
  if (named === undefined) return caller.projectId
  if (!caller.scopes.has('operator'))
    throw new HoltError('forbidden', 'Only a key with the scope operator can name a project.', {
      details: { scope: 'operator' },
    })
  return (await findProject(db, named)).project_id
}
