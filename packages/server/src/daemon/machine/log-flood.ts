import { type Rate, TokenBuckets } from '../../tenancy/limits/token-buckets.ts'

/** The rate of equal messages. After the burst, one line in ten seconds is written. */
const rate: Rate = { perSec: 0.1, burst: 100 }

/**
 * A rate limit for equal log messages. Guests and clients can repeat their actions without limit,
 * and the log must not fill the service's disk.
 */
export class LogFlood {
  readonly #buckets: TokenBuckets
  /**
   * The number of omitted lines by message since the last written one. The code has a limited
   * number of messages.
   */
  readonly #leftOut = new Map<string, number>()

  /** `monotonic` returns milliseconds. */
  constructor(monotonic: () => number = () => performance.now()) {
    this.#buckets = new TokenBuckets(monotonic)
  }

  /**
   * Decides whether to write a line of this message. Returns the number of lines omitted before it,
   * or null to omit it.
   */
  admit(message: string): number | null {
    const leftOut = this.#leftOut.get(message) ?? 0
    if (this.#buckets.take(message, rate).allowed) {
      this.#leftOut.delete(message)
      return leftOut
    }
    this.#leftOut.set(message, leftOut + 1)
    return null
  }
}
