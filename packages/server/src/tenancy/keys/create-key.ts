import { type CreateKey, HoltError } from '@holt/protocol'
import type { z } from 'zod'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { aloneWith, aloneWithService } from '../../foundation/store/alone.ts'
import type { KeyRow } from '../../foundation/store/tables.ts'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import { digestOf, makeSecret, prefixOf } from '../auth/key-secret.ts'
import { recordEvent } from '../events/record-event.ts'
import type { Tenancy } from '../tenancy.ts'
import { projectOfKeys } from './find-key.ts'

/** The id and the settings of a new key, and the caller. */
interface KeyCreation {
  readonly keyId: string
  readonly request: z.output<typeof CreateKey>
  readonly caller: Caller
}

/** A key with its secret, which is not stored. */
export interface SecretKey {
  readonly row: KeyRow
  readonly secret: string
}

/** The maximum number of active keys of a project: one for each machine of a large one. */
const maxKeys = 1000

/** Makes a key. An operator may make it for another project. */
export async function createKey({ store, now }: Tenancy, { keyId, request, caller }: KeyCreation): Promise<SecretKey> {
  requireOwnScopes(caller, request.scopes)
  const at = now()
  const expiresAt = request.expires_at === null ? null : Date.parse(request.expires_at)
  if (expiresAt !== null && expiresAt <= at) throw invalidField('/expires_at', 'must be in the future')
  const secret = makeSecret(request.format)
  const alone = request.project === undefined ? aloneWith(caller.projectId) : aloneWithService
  const row = await store.change(alone, async (changes) => {
    const projectId = await projectOfKeys(changes, caller, request.project)
    await changes.enterProject(projectId)
    // The same id is a repeated request whose answer was lost. Nobody has the earlier secret.
    await changes.deleteFrom('keys').where('project_id', '=', projectId).where('key_id', '=', keyId).execute()
    const { count } = await changes
      .selectFrom('keys')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('project_id', '=', projectId)
      .where('revoked_at', 'is', null)
      .executeTakeFirstOrThrow()
    if (Number(count) >= maxKeys)
      throw limitReached('quota_exceeded', `A project has at most ${maxKeys} keys.`, {
        limit: maxKeys,
        hint: 'Revoke unused keys.',
      })
    const inserted = await changes
      .insertInto('keys')
      .values({
        key_id: keyId,
        project_id: projectId,
        name: request.name,
        prefix: prefixOf(secret),
        digest: digestOf(secret),
        scopes_json: JSON.stringify([...new Set(request.scopes)]),
        expires_at: expiresAt,
        revoked_at: null,
        created_at: at,
        last_used_at: null,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    const data = { by: caller.keyId, name: request.name, scopes: request.scopes }
    await recordEvent(changes, { projectId, type: 'key.created', subjectId: keyId, data, at })
    return inserted
  })
  return { row, secret }
}

/** Refuses scopes that the caller lacks. `admin` includes all scopes of its project. */
function requireOwnScopes({ scopes: own }: Caller, wanted: readonly string[]): void {
  if (!wanted.includes('operator') || own.has('operator')) return
  throw new HoltError('forbidden', 'Only a key with the scope operator can make another such key.', {
    details: { scope: 'operator' },
  })
}
