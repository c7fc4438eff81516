import { Key, type Scope } from '@holt/protocol'
import { storedJson } from '../store/stored-json.ts'
import type { KeyRow } from '../store/tables.ts'

type Scopes = Pick<KeyRow, 'scopes_json'>

/** What a key may do; null where its row is damaged: it opens nothing then, and can be revoked. */
export function scopesOf({ scopes_json }: Scopes): readonly Scope[] | null {
  return Key.shape.scopes.safeParse(storedJson(scopes_json)).data ?? null
}

/** Whether a key has a scope by its name. */
export function hasScope(row: Scopes, scope: Scope): boolean {
  return scopesOf(row)?.includes(scope) ?? false
}
