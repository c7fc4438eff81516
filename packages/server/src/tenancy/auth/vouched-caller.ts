import { HoltError } from '@holt/protocol'
import type { Caller } from '../../foundation/request/caller.ts'
import type { Vouch } from '../../foundation/request/vouch.ts'
import type { Tenancy } from '../tenancy.ts'
import { authenticate, type Proof } from './authenticate.ts'
import { credentialName } from './open-streams.ts'
import { validCredentials } from './valid-credentials.ts'

/** Returns the caller that another host vouches for. Throws if it vouches for a visit to a port. */
export function vouchedCaller({ caller }: Vouch): Caller {
  if (caller !== null) return caller
  throw new HoltError('unauthenticated', 'The request was forwarded as a visit to a port.')
}

/**
 * Throws if the key of a request has become invalid since its admission. `vouch` is that of the
 * request's connection, and `proof` is the proof of a request without one.
 */
export async function requireStillValid(
  service: Tenancy,
  { vouch, proof }: { readonly vouch: Vouch | null; readonly proof: () => Proof },
): Promise<void> {
  if (vouch === null) {
    await authenticate(service, proof())
    return
  }
  const caller = vouchedCaller(vouch)
  const valid = await validCredentials(service.store.db, [caller.keyId], service.now())
  if (!valid.has(credentialName(caller))) throw new HoltError('unauthenticated', 'The API key is no longer valid.')
}
