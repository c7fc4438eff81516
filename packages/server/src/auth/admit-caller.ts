import { HoltError } from '@holt/protocol'
import { limitReached } from '../limits/limit-reached.ts'
import type { Service } from '../service.ts'
import { authenticate, type Caller } from './authenticate.ts'

/** Of a request what tells who sent it. */
export interface Claim {
  /** The `Authorization` header. */
  readonly authorization: string | undefined
  /** The address that it came from. */
  readonly peer: string | undefined
}

/**
 * Finds the caller of a request and counts it: for its project where the key is right, for its
 * address where not. `tell` is handed what the answer says of that. Throws `rate_limited` where
 * there have been too many.
 */
export async function admitCaller(
  service: Service,
  { authorization, peer }: Claim,
  tell: (headers: Record<string, string>) => void = () => {},
): Promise<Caller> {
  const caller = await identify(service, { authorization, peer })
  const counted = service.rates.take(caller.projectId, await service.projects.of(caller.projectId))
  if (counted === null) return caller
  const { burst, remaining, resetSecs, allowed, retryAfterSecs } = counted
  tell({ 'ratelimit-limit': `${burst}`, 'ratelimit-remaining': `${remaining}`, 'ratelimit-reset': `${resetSecs}` })
  if (allowed) return caller
  throw limitReached('rate_limited', 'The project sends more requests than it may.', {
    limit: burst,
    retry_after_secs: retryAfterSecs,
    reset_secs: resetSecs,
  })
}

/** Finds the caller of a request. Wrong keys are counted, and written down. */
export async function identify(service: Service, { authorization, peer }: Claim): Promise<Caller> {
  try {
    return await authenticate(service, authorization)
  } catch (error) {
    if (error instanceof HoltError && error.code === 'unauthenticated') {
      // Written down first: the rate throws where there are too many, which is when the log is
      // asked.
      service.audit.failedAuthentication(peer ?? 'unknown')
      service.rates.noteFailure(peer)
    }
    throw error
  }
}
