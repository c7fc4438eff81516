import { HoltError } from '@holt/protocol'
import { type ConsoleClaim, claimsIn } from '../console/console-cookie.ts'
import { consoleHeader, isOwnPage, type PageRequest } from '../console/own-page.ts'
import type { Tenancy } from '../tenancy.ts'
import type { Proof } from './authenticate.ts'

/**
 * Returns the proof of a request: its `Authorization` header, or the session of the console that it
 * names. A cookie counts for requests with the console's header only, so no link, form or picture
 * of another page uses it. Throws if another page sent the request, or the session is missing.
 */
export function proofOf({ config }: Pick<Tenancy, 'config'>, request: PageRequest): Proof {
  const { authorization, [consoleHeader]: keyId } = request.headers
  if (authorization !== undefined || keyId === undefined || !config.console) return authorization
  return sessionProof(request, String(keyId))
}

/** Returns the session of a key in the cookies of a request by a page of this service. */
export function sessionProof(request: PageRequest, keyId: string): ConsoleClaim {
  requireOwnPage(request)
  const claim = claimsIn(request.headers).find((each) => each.keyId === keyId)
  if (claim !== undefined) return claim
  throw new HoltError('unauthenticated', 'The request has no session of the console for this key.', {
    hint: 'Sign in again.',
  })
}

/** Refuses a request that a page of another origin sent. */
export function requireOwnPage(request: PageRequest): void {
  if (isOwnPage(request)) return
  throw new HoltError('forbidden', 'Only pages of the console may use its sessions.', {
    hint: 'Open the console at the address of the service. A proxy must pass Host on unchanged.',
  })
}
