import { type Rate, TokenBuckets } from '../limits/token-buckets.ts'

/** So many lines of one message are written as they come, and after that one in ten seconds. */
const rate: Rate = { perSec: 0.1, burst: 100 }

/**
 * Bounds how often the log says the same: what a guest or a client does, they may do as often as
 * they like, and a log must not fill the disk that the service writes to.
 */
export class LogFlood {
  readonly #buckets: TokenBuckets
  /**
   * By message, of which the code has as many as it has: lines that were left out since the last
   * one.
   */
  readonly #leftOut = new Map<string, number>()

  /** `monotonic` counts milliseconds. */
  constructor(monotonic: () => number = () => performance.now()) {
    this.#buckets = new TokenBuckets(monotonic)
  }

  /**
   * Whether a line of this message is to be written: how many were left out before it, or null for
   * not now.
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
