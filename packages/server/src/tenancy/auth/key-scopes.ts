import { Key, type Scope } from '@holt/protocol'
import { storedJson } from '../../foundation/store/stored-json.ts'
import type { KeyRow } from '../../foundation/store/tables.ts'

type Scopes = Pick<KeyRow, 'scopes_json'>

/**
 * Returns the scopes of a key, or null if its row is damaged. A damaged key opens nothing, and can
 * be revoked.
 */
export function scopesOf({ scopes_json }: Scopes): readonly Scope[] | null {
  return Key.shape.scopes.safeParse(storedJson(scopes_json)).data ?? null
}

/** Returns true if a key names a scope. */
export function hasScope(row: Scopes, scope: Scope): boolean {
  return scopesOf(row)?.includes(scope) ?? false
}
