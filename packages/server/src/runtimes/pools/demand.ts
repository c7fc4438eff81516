/**
 * The time within which claims count as one burst, in milliseconds. A pool is not refilled earlier.
 */
const burstMs = 10_000

/** The time after which a burst counts half, in milliseconds. */
const halfLifeMs = 5 * 60_000

/** The factor by which a pool exceeds the largest recent burst. */
const headroom = 1.25

/** The size below which a burst is forgotten. A single claim is forgotten after five minutes. */
const forgotten = 0.5

/** The maximum size of a burst. Pools have a ceiling anyway. */
const countedMax = 1000

/**
 * The number of members that a pool should have. It is the largest recent burst, which decays with
 * time.
 */
export class Demand {
  /** The times of the claims in the current burst. */
  #burst: number[] = []
  #peak = 0
  #peakAt = 0

  /** Records a claim, served or not. Times are milliseconds of one clock. */
  note(at: number): void {
    this.#burst = this.#burst.filter((claimedAt) => at - claimedAt < burstMs)
    if (this.#burst.length < countedMax) this.#burst.push(at)
    if (this.#burst.length < this.#level(at)) return
    this.#peak = this.#burst.length
    this.#peakAt = at
  }

  /** Returns the number of members to keep ready. */
  wanted(at: number): number {
    const level = this.#level(at)
    return level < forgotten ? 0 : Math.ceil(level * headroom)
  }

  #level(at: number): number {
    return this.#peak * 2 ** (-Math.max(0, at - this.#peakAt) / halfLifeMs)
  }
}
