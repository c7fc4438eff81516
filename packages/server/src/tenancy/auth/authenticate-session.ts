import { HoltError } from '@holt/protocol'
import type { Caller } from '../../foundation/request/caller.ts'
import type { ConsoleClaim } from '../console/console-cookie.ts'
import { findSession, lastMoment, renewSession, sessionDigest } from '../console/console-sessions.ts'
import type { Tenancy } from '../tenancy.ts'
import { scopesOf } from './key-scopes.ts'
import { credentialName } from './open-streams.ts'
import { validCredentials } from './valid-credentials.ts'

/**
 * Returns the caller of a request by its session of the console, and renews the session. The
 * session has the key's scopes, and ends with the key's secret.
 */
export async function authenticateSession(service: Tenancy, claim: ConsoleClaim): Promise<Caller> {
  const { store, now, likelyProjects } = service
  const { keyId } = claim
  const at = now()
  const digest = sessionDigest(claim)
  const session = await findSession(store.db, claim, at)
  if (session === undefined) {
    likelyProjects.forget(digest)
    throw ended()
  }
  const { project_id: projectId, key_version: keyVersion } = session
  const valid = await validCredentials(store.db, [keyId], at)
  const key = await store.db
    .selectFrom('keys')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('key_id', '=', keyId)
    .executeTakeFirst()
  const scopes = key === undefined ? null : scopesOf(key)
  if (key === undefined || scopes === null || !valid.has(credentialName({ keyId, keyVersion }))) {
    likelyProjects.forget(digest)
    throw ended()
  }
  likelyProjects.note(digest, projectId)
  renewSession(service, session)
  return {
    projectId,
    keyId,
    keyName: key.name,
    keyVersion,
    scopes: new Set(scopes),
    session: { digest, endsAt: lastMoment(session) },
  }
}

function ended(): HoltError {
  return new HoltError('unauthenticated', 'The session of the console has ended.', { hint: 'Sign in again.' })
}
