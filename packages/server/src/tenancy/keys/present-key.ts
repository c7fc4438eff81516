import { HoltError, type Key } from '@holt/protocol'
import { moment, momentOrNull } from '../../foundation/store/moment.ts'
import type { KeyRow } from '../../foundation/store/tables.ts'
import { scopesOf } from '../auth/key-scopes.ts'

/** Returns a stored key as the API shows it. Of its secret it has only the prefix. */
export function presentKey(row: KeyRow, now: number): Key {
  const scopes = scopesOf(row)
  if (scopes === null) throw damagedKey(row)
  const overlaps = row.previous_until !== null && row.previous_until > now
  return {
    key_id: row.key_id as Key['key_id'],
    project_id: row.project_id as Key['project_id'],
    name: row.name,
    prefix: row.prefix,
    scopes: [...scopes],
    expires_at: momentOrNull(row.expires_at),
    created_at: moment(row.created_at),
    last_used_at: momentOrNull(row.last_used_at),
    rotated_at: momentOrNull(row.rotated_at),
    previous_until: overlaps ? momentOrNull(row.previous_until) : null,
  }
}

/** Returns the error for a key with a damaged row. */
export function damagedKey({ key_id }: KeyRow): HoltError {
  return new HoltError('unavailable', `The stored key ${key_id} is damaged.`, {
    hint: 'Revoke it, and make a new key.',
  })
}
