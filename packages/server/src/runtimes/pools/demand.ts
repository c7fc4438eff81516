/** Claims this close together are one burst: within that time a pool has not refilled. */
const burstMs = 10_000

/** A burst counts half as much after this time, and so on. */
const halfLifeMs = 5 * 60_000

/** The factor by which a pool exceeds the largest recent burst. */
const headroom = 1.25

/** Below this a burst is forgotten: one claim is after five minutes. */
const forgotten = 0.5

/** No burst counts as more: a pool has a ceiling anyway. */
const countedMax = 1000

/**
 * How many runtimes a pool should have ready, told from the claims of late: its greatest burst,
 * forgotten little by little.
 */
export class Demand {
  /** When the claims of the burst that may still go on came. */
  #burst: number[] = []
  #peak = 0
  #peakAt = 0

  /** Somebody wanted a runtime, and got one or not. Times are milliseconds of one clock. */
  note(at: number): void {
    this.#burst = this.#burst.filter((claimedAt) => at - claimedAt < burstMs)
    if (this.#burst.length < countedMax) this.#burst.push(at)
    if (this.#burst.length < this.#level(at)) return
    this.#peak = this.#burst.length
    this.#peakAt = at
  }

  /** How many should be ready. */
  wanted(at: number): number {
    const level = this.#level(at)
    return level < forgotten ? 0 : Math.ceil(level * headroom)
  }

  #level(at: number): number {
    return this.#peak * 2 ** (-Math.max(0, at - this.#peakAt) / halfLifeMs)
  }
}
