import { HoltError, isIdParam, type Key } from '@holt/protocol'
import { digestOf, makeSecret, prefixOf } from '../auth/key-secret.ts'
import { recordEvent } from '../events/record-event.ts'
import type { Answer, Call, Handlers } from '../http/call.ts'
import { invalidField } from '../http/field-issues.ts'
import { moment, momentOrNull } from '../store/moment.ts'
import { pageOfRows, seqBefore } from '../store/page-cursor.ts'
import type { KeyRow } from '../store/tables.ts'

/** The routes of keys. */
export const keyHandlers = { createKey, listKeys, revokeKey } satisfies Partial<Handlers>

async function createKey({ service, caller, body, newId }: Call<'createKey'>): Promise<Answer> {
  const { store, now } = service
  const expiresAt = body.expires_at === null ? null : Date.parse(body.expires_at)
  if (expiresAt !== null && expiresAt <= now()) throw invalidField('/expires_at', 'must be in the future')
  const secret = makeSecret()
  const row = {
    key_id: newId('key'),
    project_id: caller.projectId,
    name: body.name,
    prefix: prefixOf(secret),
    digest: digestOf(secret),
    scopes_json: JSON.stringify([...new Set(body.scopes)]),
    expires_at: expiresAt,
    revoked_at: null,
    created_at: now(),
    last_used_at: null,
  }
  const stored = await store.change(async (changes) => {
    // The same id is the same request again, after an answer that was never given: nobody has the earlier secret.
    await changes
      .deleteFrom('keys')
      .where('project_id', '=', caller.projectId)
      .where('key_id', '=', row.key_id)
      .execute()
    const inserted = await changes.insertInto('keys').values(row).returningAll().executeTakeFirstOrThrow()
    await recordEvent(changes, {
      projectId: caller.projectId,
      type: 'key.created',
      subjectId: row.key_id,
      data: { by: caller.keyId },
      at: row.created_at,
    })
    return inserted
  })
  return { status: 201, json: { ...presentKey(stored), key: secret } }
}

async function listKeys({ service, caller, query }: Call<'listKeys'>): Promise<Answer> {
  const rows = await service.store.db
    .selectFrom('keys')
    .selectAll()
    .where('project_id', '=', caller.projectId)
    .where('revoked_at', 'is', null)
    .where('seq', '<', seqBefore(query.cursor))
    .orderBy('seq', 'desc')
    .limit(query.limit + 1)
    .execute()
  return { status: 200, json: pageOfRows(rows, query.limit, presentKey) }
}

/** Revokes a key; what it has open ends at once. The last key that may make keys stays, or nobody could get in. */
async function revokeKey({ service, caller, params }: Call<'revokeKey'>): Promise<Answer> {
  const { store, recentKeys, streams, now } = service
  const at = now()
  await store.change(async (changes) => {
    const keys = await changes
      .selectFrom('keys')
      .selectAll()
      .where('project_id', '=', caller.projectId)
      .where('revoked_at', 'is', null)
      .execute()
    const key = isIdParam('key_id', params.key_id) ? keys.find(({ key_id }) => key_id === params.key_id) : undefined
    if (key === undefined) throw new HoltError('key_not_found', 'There is no such key.')
    const admins = keys.filter((other) => isAdmin(other) && (other.expires_at === null || other.expires_at > at))
    if (isAdmin(key) && admins.every(({ key_id }) => key_id === key.key_id)) {
      throw new HoltError('conflict', 'This is the last key with the scope admin.', { hint: 'Make another one first.' })
    }
    await changes
      .updateTable('keys')
      .set({ revoked_at: at })
      .where('project_id', '=', caller.projectId)
      .where('key_id', '=', key.key_id)
      .execute()
    await recordEvent(changes, {
      projectId: caller.projectId,
      type: 'key.revoked',
      subjectId: key.key_id,
      data: { by: caller.keyId },
      at,
    })
  })
  recentKeys.clear()
  streams.cutKey(params.key_id)
  return { status: 204 }
}

function isAdmin({ scopes_json }: KeyRow): boolean {
  return (JSON.parse(scopes_json) as string[]).includes('admin')
}

function presentKey(row: KeyRow): Key {
  return {
    key_id: row.key_id as Key['key_id'],
    name: row.name,
    prefix: row.prefix,
    scopes: JSON.parse(row.scopes_json),
    expires_at: momentOrNull(row.expires_at),
    created_at: moment(row.created_at),
    last_used_at: momentOrNull(row.last_used_at),
  }
}
