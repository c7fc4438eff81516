import { type Quotas, usualBurst } from '@holt/protocol'
import { limitReached } from './limit-reached.ts'
import { peerName } from './peer-name.ts'
import { type Rate, type Taken, TokenBuckets } from './token-buckets.ts'

/**
 * Wrong keys that one address may send: more than a client whose key has just been revoked does.
 */
const failureRate: Rate = { perSec: 10, burst: 200 }

/** How often projects ask, and how often addresses send wrong keys. */
export class RequestRates {
  readonly #projects: TokenBuckets
  readonly #peers: TokenBuckets
  readonly #failures: Rate

  constructor(monotonic: () => number, failures: Rate = failureRate) {
    this.#projects = new TokenBuckets(monotonic)
    this.#peers = new TokenBuckets(monotonic)
    this.#failures = failures
  }

  /** Counts a request of a project; null where its quotas do not limit them. */
  take(projectId: string, { requests_per_sec: perSec, request_burst }: Quotas): Counted | null {
    if (perSec === null) return null
    const burst = request_burst ?? usualBurst(perSec)
    return { burst, ...this.#projects.take(projectId, { perSec, burst }) }
  }

  /**
   * Counts a wrong key, and throws `rate_limited` where that address has sent too many. A right one
   * is never refused: behind a proxy all clients have one address.
   */
  noteFailure(peer: string | undefined): void {
    const { allowed, retryAfterSecs, resetSecs } = this.#peers.take(peerName(peer), this.#failures)
    if (allowed) return
    throw limitReached('rate_limited', 'Too many requests with wrong keys came from this address.', {
      limit: this.#failures.burst,
      retry_after_secs: retryAfterSecs,
      reset_secs: resetSecs,
    })
  }
}

/** A request that was counted. */
export interface Counted extends Taken {
  readonly burst: number
}
