import { HoltError, isIdParam } from '@holt/protocol'
import type { Caller } from '../auth/authenticate.ts'
import { idNotFound } from '../missing/not-found.ts'
import { findProject } from '../projects/find-project.ts'
import type { Queries } from '../store/open-store.ts'
import type { KeyRow } from '../store/tables.ts'
import { hasScope } from './key-scopes.ts'

/**
 * The keys that a caller may see and that have not been revoked: its project's, and an operator's
 * are those of all.
 */
function keysOf(db: Queries, { projectId, scopes }: Pick<Caller, 'projectId' | 'scopes'>) {
  const keys = db.selectFrom('keys').selectAll().where('revoked_at', 'is', null)
  return scopes.has('operator') ? keys : keys.where('project_id', '=', projectId)
}

/** A key that a caller may see. One of another project is the same as none. */
export async function findKey(db: Queries, caller: Caller, keyId: string): Promise<KeyRow> {
  const row = isIdParam('key_id', keyId)
    ? await keysOf(db, caller).where('key_id', '=', keyId).executeTakeFirst()
    : undefined
  if (row === undefined) throw idNotFound('key_not_found', keyId)
  return row
}

/**
 * A key that a caller may rotate and revoke. One with `operator` is for operators alone: whoever
 * has its secret is one, and whoever takes it away locks them out.
 */
export async function findKeyToChange(db: Queries, caller: Caller, keyId: string): Promise<KeyRow> {
  const row = await findKey(db, caller, keyId)
  if (!hasScope(row, 'operator') || caller.scopes.has('operator')) return row
  throw new HoltError('forbidden', 'Only a key with the scope operator changes one that has it.', {
    details: { scope: 'operator' },
  })
}

/** The project whose keys are meant: the caller's own, or the one that an operator names. */
export async function projectOfKeys(db: Queries, caller: Caller, named: string | undefined): Promise<string> {
  if (named === undefined) return caller.projectId
  if (!caller.scopes.has('operator'))
    throw new HoltError('forbidden', 'Only a key with the scope operator names a project.', {
      details: { scope: 'operator' },
    })
  return (await findProject(db, named)).project_id
}
