import { HoltError } from '@holt/protocol'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import type { Tenancy } from '../tenancy.ts'
import { authenticate, type Proof } from './authenticate.ts'

/** The parts of a request that identify the sender. */
export interface Claim {
  /** The `Authorization` header, or what stands for it. */
  readonly authorization: Proof
  /** The address of the sender. */
  readonly peer: string | undefined
}

/**
 * Finds the caller of a request and counts the request. A valid key counts for its project, an
 * invalid one for its address. Passes the rate limit headers of the answer to `tell`. Throws
 * `rate_limited` after too many requests.
 */
export async function admitCaller(
  service: Tenancy,
  { authorization, peer }: Claim,
  tell: (headers: Record<string, string>) => void = () => {},
): Promise<Caller> {
  const caller = await identify(service, { authorization, peer })
  await countRequest(service, caller.projectId, tell)
  return caller
}

/**
 * Counts a request of a project. Passes the rate limit headers of the answer to `tell`. Throws
 * `rate_limited` after too many requests.
 */
export async function countRequest(
  { rates, projects }: Pick<Tenancy, 'rates' | 'projects'>,
  projectId: string,
  tell: (headers: Record<string, string>) => void = () => {},
): Promise<void> {
  const counted = rates.take(projectId, await projects.of(projectId))
  if (counted === null) return
  const { burst, remaining, resetSecs, allowed, retryAfterSecs } = counted
  tell({ 'ratelimit-limit': `${burst}`, 'ratelimit-remaining': `${remaining}`, 'ratelimit-reset': `${resetSecs}` })
  if (allowed) return
  throw limitReached('rate_limited', 'The project exceeds its request rate.', {
    limit: burst,
    retry_after_secs: retryAfterSecs,
    reset_secs: resetSecs,
  })
}

/**
 * Finds the caller of a request. Counts wrong keys and writes them to the audit log. A session of
 * the console that has ended is not a wrong key: each open page of a browser finds that out, and
 * its tokens cannot be guessed.
 */
export async function identify(service: Tenancy, { authorization, peer }: Claim): Promise<Caller> {
  try {
    return await authenticate(service, authorization)
  } catch (error) {
    if (error instanceof HoltError && error.code === 'unauthenticated' && typeof authorization !== 'object') {
      // The entry is written first. The rate throws after too many failures, and the log is needed
      // then.
      service.audit.failedAuthentication(peer ?? 'unknown')
      service.rates.noteFailure(peer)
    }
    throw error
  }
}
