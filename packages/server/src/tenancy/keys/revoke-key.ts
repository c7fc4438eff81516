import { HoltError, type Scope } from '@holt/protocol'
import type { Caller } from '../../foundation/request/caller.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { KeyRow } from '../../foundation/store/tables.ts'
import { hasScope } from '../auth/key-scopes.ts'
import { recordEvent } from '../events/record-event.ts'
import type { Tenancy } from '../tenancy.ts'
import { endTokens } from './end-tokens.ts'
import { enterKey, scopeOfKeys } from './find-key.ts'

/** Revokes a key, and immediately ends its open streams, at all hosts. */
export async function revokeKey(
  { config, store, recentKeys, likelyProjects, streams, visits, changesElsewhere, now }: Tenancy,
  { keyId, caller }: { keyId: string; caller: Caller },
): Promise<void> {
  const at = now()
  const { revoked, made } = await store.change(scopeOfKeys(caller), async (changes) => {
    const key = await enterKey(changes, caller, keyId)
    await requireAnother(changes, { key, caller, at })
    await changes
      .updateTable('keys')
      .set({ revoked_at: at })
      .where('project_id', '=', key.project_id)
      .where('key_id', '=', key.key_id)
      .execute()
    const { project_id: projectId, key_id: subjectId } = key
    await recordEvent(changes, { projectId, type: 'key.revoked', subjectId, data: { by: caller.keyId }, at })
    return { revoked: key, made: config.e2b?.keepTokens === true ? [] : await endTokens(changes, key) }
  })
  recentKeys.clear()
  likelyProjects.forget(revoked.digest, revoked.previous_digest)
  streams.cutKey(keyId)
  for (const runtimeId of made) visits.cut(runtimeId)
  await changesElsewhere.apply({ type: 'keys', keyIds: [keyId], endsTokens: made.length > 0 })
}

interface Revocation {
  readonly key: KeyRow
  readonly caller: Caller
  readonly at: number
}

/**
 * Refuses to revoke the last `admin` key of a project, because nobody could get in. An operator may
 * revoke it, and can make another. The last operator's key is never revoked.
 */
async function requireAnother(db: Queries, { key, caller, at }: Revocation): Promise<void> {
  const scope: Scope = caller.scopes.has('operator') ? 'operator' : 'admin'
  if (!hasScope(key, scope)) return
  const valid = db
    .selectFrom('keys')
    .selectAll()
    .where('revoked_at', 'is', null)
    .where('key_id', '!=', key.key_id)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', at)]))
  const others = await (scope === 'operator' ? valid : valid.where('project_id', '=', key.project_id)).execute()
  if (others.some((other) => hasScope(other, scope) && hasScope(other, 'admin'))) return
  throw new HoltError('conflict', `This is the last key with the scope ${scope}.`, { hint: 'First make another key.' })
}
