import type { Scope } from '@holt/protocol'

/** The sender of a request. The key determines the project. */
export interface Caller {
  readonly projectId: string
  readonly keyId: string
  readonly keyName: string
  /** The version of the key's secret that was sent. */
  readonly keyVersion: number
  readonly scopes: ReadonlySet<Scope>
  /** The session of the console that the request used. Absent: it sent the key itself. */
  readonly session?: CallerSession
}

/** A session of the console: the digest of its token, and the time when it ends at the latest. */
export interface CallerSession {
  readonly digest: string
  readonly endsAt: number
}

/** Returns true if the scopes of a key include one. `admin` includes all scopes of its project. */
export function hasScopeOf(scopes: ReadonlySet<Scope>, scope: Scope): boolean {
  return scopes.has(scope) || (scopes.has('admin') && scope !== 'operator')
}
