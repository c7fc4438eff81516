import type { Scope } from '@holt/protocol'

/** The sender of a request. The key determines the project. */
export interface Caller {
  readonly projectId: string
  readonly keyId: string
  readonly keyName: string
  /** The version of the key's secret that was sent. */
  readonly keyVersion: number
  readonly scopes: ReadonlySet<Scope>
}

/** Returns true if the scopes of a key include one. `admin` includes all scopes of its project. */
export function hasScopeOf(scopes: ReadonlySet<Scope>, scope: Scope): boolean {
  return scopes.has(scope) || (scopes.has('admin') && scope !== 'operator')
}
