/** How fast a bucket fills, and how much it holds. */
export interface Rate {
  readonly perSec: number
  readonly burst: number
}

/** What became of an attempt to take a token. */
export interface Taken {
  readonly allowed: boolean
  /** Whole tokens that are left. */
  readonly remaining: number
  /** Seconds until the bucket is full again. */
  readonly resetSecs: number
  /** Seconds until there is a token. */
  readonly retryAfterSecs: number
}

interface Bucket {
  tokens: number
  filledAt: number
}

/**
 * More buckets than this are gone through, and those that are full are forgotten: a full one is the
 * same as none.
 */
const maxBuckets = 10_000

/**
 * Token buckets by name (https://en.wikipedia.org/wiki/Token_bucket): in the long run so many a
 * second, and a burst after a while without.
 */
export class TokenBuckets {
  readonly #buckets = new Map<string, Bucket>()
  readonly #monotonic: () => number

  /** `monotonic` counts milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Takes a token, where there is one. A rate that has changed holds from now on. */
  take(name: string, rate: Rate): Taken {
    const { perSec, burst } = rate
    const now = this.#monotonic()
    const bucket = this.#buckets.get(name) ?? { tokens: burst, filledAt: now }
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.filledAt) / 1000) * perSec)
    bucket.filledAt = now
    const allowed = bucket.tokens >= 1
    if (allowed) bucket.tokens -= 1
    if (!this.#buckets.has(name)) this.#keep(name, bucket, rate)
    return {
      allowed,
      remaining: Math.floor(bucket.tokens),
      resetSecs: Math.ceil((burst - bucket.tokens) / perSec),
      retryAfterSecs: allowed ? 0 : Math.max(1, Math.ceil((1 - bucket.tokens) / perSec)),
    }
  }

  #keep(name: string, bucket: Bucket, { perSec, burst }: Rate): void {
    if (this.#buckets.size >= maxBuckets) {
      const now = this.#monotonic()
      for (const [other, { tokens, filledAt }] of this.#buckets)
        if (tokens + ((now - filledAt) / 1000) * perSec >= burst) this.#buckets.delete(other)
      // Where none is full the oldest goes: memory is bounded whatever comes.
      const [oldest] = this.#buckets.keys()
      if (this.#buckets.size >= maxBuckets && oldest !== undefined) this.#buckets.delete(oldest)
    }
    this.#buckets.set(name, bucket)
  }
}
