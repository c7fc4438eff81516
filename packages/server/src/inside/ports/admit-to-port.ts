import { HoltError } from '@holt/protocol'
import type { Vouch } from '../../foundation/request/vouch.ts'
import { findRuntime } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { settingOf } from '../../runtimes/state/port-settings.ts'
import { type Claim, identify } from '../../tenancy/auth/admit-caller.ts'
import { requireScope } from '../../tenancy/auth/authenticate.ts'
import { type Credential, credentialName } from '../../tenancy/auth/open-streams.ts'
import { validCredentials } from '../../tenancy/auth/valid-credentials.ts'
import type { Inside } from '../inside.ts'
import type { PortCredentials } from './port-credentials.ts'
import type { PortTarget } from './port-target.ts'
import { makePortToken, type PortGrant, readPortToken } from './port-token.ts'

/** The changes of a request's headers on their way to a program. */
export interface PortMasks {
  /** The Host that the program gets. Null: the one that the client sent. */
  readonly host: string | null
  /** Returns true for a header that is not for the program. The name is in lower case. */
  hides(name: string, value: string): boolean
}

/** The reason why a request is admitted to a port, and the end of the admission. */
export interface Admission {
  readonly row: RuntimeRow
  /** The key that admits the request, with the version of its secret; null for a public port. */
  readonly credential: Credential | null
  /** The end in milliseconds since 1970 UTC; null: the end of the key. */
  readonly expiresAt: number | null
  readonly by: 'key' | 'token' | 'public'
  /** The token for the cookie of a browser. Absent: the request was admitted without a token. */
  readonly token?: string
  /** The changes of the request's headers. Absent: there are none. */
  readonly masks?: PortMasks
}

/**
 * Admits a request to a port: by an API key (not in the host form), by a token, or because the port
 * is public. Throws if none of them applies.
 */
export async function admitToPort(
  service: Inside,
  target: PortTarget,
  credentials: PortCredentials,
  peer: string | undefined,
): Promise<Admission> {
  const { authorization } = credentials
  if (target.form !== 'host' && authorization !== null) return admitByKey(service, target, { authorization, peer })
  const tokens = [...(credentials.token === null ? [] : [credentials.token]), ...credentials.cookies]
  const once = service.onceTokens.take(credentials, target) ?? []
  const grants = [once, tokens.flatMap((token) => readPortToken(service.portSecret, token, target) ?? [])].flat()
  const row = await findByAddress(service, target.runtimeId)
  for (const grant of grants) {
    const admission = row === undefined ? null : await admitByGrant(service, row, grant)
    if (admission !== null) return admission
  }
  if (row !== undefined && settingOf(row, target.port).public)
    return { row, credential: null, expiresAt: null, by: 'public' }
  throw refusal(target, { known: grants.length > 0, exists: row !== undefined })
}

/**
 * Admits a visit that another host has admitted. Checks again what this host may have changed since
 * then: the runtime, a public port, and the generation of the port's tokens.
 */
export async function admitVouched(service: Inside, target: PortTarget, { visit }: Vouch): Promise<Admission> {
  if (visit === null) throw new HoltError('unauthenticated', 'The request was forwarded as a call of a route.')
  const { projectId, by, credential, expiresAt, generation } = visit
  const row = await findRuntime(service, { projectId, runtimeId: target.runtimeId })
  const setting = settingOf(row, target.port)
  const isOver = by === 'token' ? setting.generation !== generation : by === 'public' && !setting.public
  if (isOver) throw refusal(target, { known: by === 'token', exists: true })
  return { row, credential, expiresAt, by }
}

async function admitByKey(service: Inside, { runtimeId }: PortTarget, claim: Claim): Promise<Admission> {
  const caller = await identify(service, claim)
  requireScope(caller, 'runtime:write')
  const row = await findRuntime(service, { projectId: caller.projectId, runtimeId })
  return { row, credential: caller, expiresAt: null, by: 'key' }
}

/**
 * Admits a request with a token. A token is valid as long as its key, within its generation, and
 * until it expires.
 */
async function admitByGrant(
  { store, now, portSecret }: Inside,
  row: RuntimeRow,
  grant: PortGrant,
): Promise<Admission | null> {
  const expiresAt = grant.expiresAtSecs * 1000
  if (expiresAt <= now() || grant.generation !== settingOf(row, grant.port).generation) return null
  const valid = await validCredentials(store.db, [grant.keyId], now())
  if (!valid.has(credentialName(grant))) return null
  return { row, credential: grant, expiresAt, by: 'token', token: makePortToken(portSecret, grant) }
}

/**
 * Returns a runtime of any project. The caller must check a token, or that the port is public,
 * before it uses the row.
 */
async function findByAddress({ store }: Inside, runtimeId: string): Promise<RuntimeRow | undefined> {
  return store.db.selectFrom('runtimes').selectAll().where('runtime_id', '=', runtimeId).executeTakeFirst()
}

/**
 * Returns the refusal of a request without a credential of this service for the port. It does not
 * reveal if the runtime exists. The path form answers 401 as the API does, and the host form 404.
 */
function refusal({ form, port }: PortTarget, { known, exists }: { known: boolean; exists: boolean }): HoltError {
  const hint = `Get a new link: holt port RUNTIME ${port}, or GET .../ports/${port} with an API key.`
  if (known && exists)
    return new HoltError('unauthenticated', 'The token has expired, or the token or its key was revoked.', { hint })
  if (known) return new HoltError('runtime_not_found', 'The runtime no longer exists.')
  if (form !== 'host')
    return new HoltError('unauthenticated', 'The port is private, and the request has no valid key or token.', { hint })
  return new HoltError(
    'runtime_not_found',
    'There is no such runtime, or the port is private and the request has no valid token.',
    { hint },
  )
}
