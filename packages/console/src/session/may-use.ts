import type { Scope } from '@holt/sdk'
import type { Session } from './sessions.ts'

/** Returns true if a session's key has a scope. `admin` includes all scopes of its project. */
export function mayUse({ scopes }: Pick<Session, 'scopes'>, scope: Scope): boolean {
  return scopes.includes(scope) || (scopes.includes('admin') && scope !== 'operator')
}
