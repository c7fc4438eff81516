import { HoltError } from '@holt/protocol'
import { type ConsoleClaim, claimsIn } from '../console/console-cookie.ts'
import { sessionDigest } from '../console/console-sessions.ts'
import { consoleHeader, isOwnPage, type PageRequest, pageClaimOf } from '../console/own-page.ts'
import type { Tenancy } from '../tenancy.ts'
import type { Proof } from './authenticate.ts'

/**
 * Returns the proof of a request: its `Authorization` header, or the session of the console that it
 * names. A cookie counts for requests with the console's header only, so no link, form or picture
 * of another page uses it. Throws if another page sent the request, or the session is missing.
 */
export function proofOf({ config }: Pick<Tenancy, 'config'>, request: PageRequest): Proof {
  const { authorization, [consoleHeader]: value } = request.headers
  if (authorization !== undefined || value === undefined || !config.console) return authorization
  return sessionProof(request, value)
}

/**
 * Returns the session that a request of a page of this service names by a value of the console's
 * header.
 */
export function sessionProof(request: PageRequest, value: unknown): ConsoleClaim {
  requireOwnPage(request)
  const claim = claimOf(request, value)
  if (claim !== null) return claim
  throw new HoltError('unauthenticated', 'The request has no session of the console for this key.', {
    hint: 'Sign in again.',
  })
}

/**
 * Returns the digest of the session that a request names, without any check. It selects a fair
 * queue and grants nothing. Null if the request names no session.
 */
export function namedSession({ headers }: Pick<PageRequest, 'headers'>): string | null {
  const { [consoleHeader]: value } = headers
  const claim = value === undefined ? null : claimOf({ headers }, value)
  return claim === null ? null : sessionDigest(claim)
}

function claimOf({ headers }: Pick<PageRequest, 'headers'>, value: unknown): ConsoleClaim | null {
  const named = pageClaimOf(value)
  const cookie = claimsIn(headers).find(({ keyId }) => keyId === named?.keyId)
  return named === null || cookie === undefined ? null : { ...cookie, page: named.page }
}

/** Refuses a request that a page of another origin sent. */
export function requireOwnPage(request: PageRequest): void {
  if (isOwnPage(request)) return
  throw new HoltError('forbidden', 'Only pages of the console may use its sessions.', {
    hint: 'Open the console at the address of the service. A proxy must pass Host on unchanged.',
  })
}
