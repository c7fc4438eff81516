/** The time of a create with a runtime that waits in the pool, in milliseconds. */
const claimMs = 8
/** The time that each other create under way adds to a claim, in milliseconds. */
const perCreateUnderWayMs = 0.5
/** The time of a restore, in milliseconds. */
const restoreMs = 200
/** The share of the promised memory above which a host looks slower than it is. */
const fillFrom = 0.5
/** The milliseconds that a full host adds, in proportion above `fillFrom`. */
const fullMs = 1000
/** The milliseconds that each runtime with the same `spread` adds. */
const perSameSpreadMs = 500

/** The facts of a host about one create. The host knows them from its own memory. */
export interface Facts {
  /** False where the host cannot run it: state, class, size, disk, or no memory left. */
  readonly can: boolean
  /** The waiting members of the pool that have the wanted shape. */
  readonly membersWaiting: number
  /** The creates under way, with those that an earlier offer makes likely. */
  readonly createsUnderWay: number
  /** The restores that run or wait. */
  readonly restoresAhead: number
  /** The restores that run at once, at least 1. */
  readonly restoresAtOnce: number
  /** The bytes of image and checkpoint that are not on this host. */
  readonly bytesToFetch: number
  /** The speed of recent fetches, in bytes for each millisecond. */
  readonly fetchBytesPerMs: number
  /** The promised memory divided by the memory for runtimes, from 0 to 1. */
  readonly promisedShare: number
  /** The runtimes here with the same value of `spread`; 0 for a create without one. */
  readonly sameSpread: number
}

/** The predicted time of a create on a host, in milliseconds. */
export interface Forecast {
  readonly totalMs: number
  /** The part of it that the create waits behind others. */
  readonly queueMs: number
}

/** Predicts the time of a create on a host. Returns null if the host cannot run it. */
export function forecast(facts: Facts): Forecast | null {
  if (!facts.can) return null
  const pooled = facts.membersWaiting > 0
  const queueMs = pooled
    ? facts.createsUnderWay * perCreateUnderWayMs
    : Math.floor(facts.restoresAhead / facts.restoresAtOnce) * restoreMs
  const work = pooled ? claimMs : restoreMs
  const fetch = facts.bytesToFetch === 0 ? 0 : facts.bytesToFetch / facts.fetchBytesPerMs
  const fill = (Math.max(0, facts.promisedShare - fillFrom) / (1 - fillFrom)) * fullMs
  return { totalMs: queueMs + work + fetch + fill + facts.sameSpread * perSameSpreadMs, queueMs }
}
