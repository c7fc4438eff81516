import { RecentMap } from '../../foundation/recent-map.ts'

/** The time over which creates are averaged, in milliseconds. */
const windowMs = 60_000

/** The maximum number of templates and snapshots that are counted. */
const mostKept = 10_000

/** The creates a second of each template and snapshot at this entry, over about a minute. */
export class DemandRates {
  readonly #kept = new RecentMap<string, { readonly at: number; readonly perSec: number }>(mostKept)

  /** Counts a create at a moment in milliseconds, and returns the present rate. */
  count(homeKey: string, at: number): number {
    const known = this.#kept.get(homeKey) ?? { at, perSec: 0 }
    const perSec = known.perSec * Math.exp((known.at - at) / windowMs) + 1000 / windowMs
    this.#kept.set(homeKey, { at, perSec })
    return perSec
  }
}
