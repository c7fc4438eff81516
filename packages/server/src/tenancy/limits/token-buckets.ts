/** The fill rate and the capacity of a bucket. */
export interface Rate {
  readonly perSec: number
  readonly burst: number
}

/** The result of an attempt to take a token. */
export interface Taken {
  readonly allowed: boolean
  /** The whole tokens that are left. */
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

/** The number of buckets above which full ones are removed. A full bucket is the same as none. */
const maxBuckets = 10_000

/**
 * Token buckets by name (https://en.wikipedia.org/wiki/Token_bucket): a rate per second, with a
 * burst after a pause.
 */
export class TokenBuckets {
  readonly #buckets = new Map<string, Bucket>()
  readonly #monotonic: () => number

  /** `monotonic` returns milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Takes a token if there is one. A changed rate applies at once. */
  take(name: string, rate: Rate): Taken {
    const bucket = this.#filled(name, rate)
    const allowed = bucket.tokens >= 1
    if (allowed) bucket.tokens -= 1
    if (!this.#buckets.has(name)) this.#keep(name, bucket, rate)
    return takenOf(bucket, rate, allowed)
  }

  /** Returns what `take` would, and takes nothing. */
  look(name: string, rate: Rate): Taken {
    const bucket = this.#filled(name, rate)
    return takenOf(bucket, rate, bucket.tokens >= 1)
  }

  /** Returns a bucket with the tokens of now. A bucket that is not kept is full. */
  #filled(name: string, { perSec, burst }: Rate): Bucket {
    const now = this.#monotonic()
    const bucket = this.#buckets.get(name) ?? { tokens: burst, filledAt: now }
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.filledAt) / 1000) * perSec)
    bucket.filledAt = now
    return bucket
  }

  #keep(name: string, bucket: Bucket, { perSec, burst }: Rate): void {
    if (this.#buckets.size >= maxBuckets) {
      const now = this.#monotonic()
      for (const [other, { tokens, filledAt }] of this.#buckets)
        if (tokens + ((now - filledAt) / 1000) * perSec >= burst) this.#buckets.delete(other)
      // If none is full, the oldest is removed, so that memory stays bounded.
      const [oldest] = this.#buckets.keys()
      if (this.#buckets.size >= maxBuckets && oldest !== undefined) this.#buckets.delete(oldest)
    }
    this.#buckets.set(name, bucket)
  }
}

function takenOf({ tokens }: Bucket, { perSec, burst }: Rate, allowed: boolean): Taken {
  return {
    allowed,
    remaining: Math.floor(tokens),
    resetSecs: Math.ceil((burst - tokens) / perSec),
    retryAfterSecs: allowed ? 0 : Math.max(1, Math.ceil((1 - tokens) / perSec)),
  }
}
