import { type Quotas, usualBurst } from '@holt/protocol'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import { peerName } from './peer-name.ts'
import { type Rate, type Taken, TokenBuckets } from './token-buckets.ts'

/** The rate of wrong keys from one address. A client whose key was just revoked stays below it. */
const failureRate: Rate = { perSec: 10, burst: 200 }

/** The request rates of projects, and the rates of wrong keys from addresses. */
export class RequestRates {
  readonly #projects: TokenBuckets
  readonly #peers: TokenBuckets
  readonly #failures: Rate

  constructor(monotonic: () => number, failures: Rate = failureRate) {
    this.#projects = new TokenBuckets(monotonic)
    this.#peers = new TokenBuckets(monotonic)
    this.#failures = failures
  }

  /** Counts a request of a project. Returns null if its quotas have no rate. */
  take(projectId: string, { requests_per_sec: perSec, request_burst }: Quotas): Counted | null {
    if (perSec === null) return null
    const burst = request_burst ?? usualBurst(perSec)
    return { burst, ...this.#projects.take(projectId, { perSec, burst }) }
  }

  /**
   * Counts a wrong key. Throws `rate_limited` if the address has sent too many. Valid keys are
   * never refused, because all clients behind a proxy have one address.
   */
  noteFailure(peer: string | undefined): void {
    this.#refuse(this.#peers.take(peerName(peer), this.#failures))
  }

  /**
   * Throws `rate_limited` if an address has sent too many wrong keys, before a check that costs
   * much. Counts nothing.
   */
  requireFewFailures(peer: string | undefined): void {
    this.#refuse(this.#peers.look(peerName(peer), this.#failures))
  }

  #refuse({ allowed, retryAfterSecs, resetSecs }: Taken): void {
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
