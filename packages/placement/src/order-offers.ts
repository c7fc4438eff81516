import type { Forecast } from './forecast.ts'
import { hashOf, weigh } from './rank-hosts.ts'

/** The answer of a host to a probe. */
export interface Offer {
  readonly hostId: string
  /** Null if the host cannot run it. */
  readonly forecast: Forecast | null
  readonly createsUnderWay: number
}

/**
 * Returns the hosts that can run a create, the fastest first. Ties go to the host with fewer
 * creates under way, then to one that the create's id picks. The order of the offers does not
 * matter.
 */
export function orderOffers(offers: readonly Offer[], createId: string): readonly string[] {
  const seed = hashOf(createId)
  return offers
    .flatMap(({ hostId, forecast, createsUnderWay }) =>
      forecast === null ? [] : [{ hostId, createsUnderWay, ms: forecast.totalMs, weight: weigh(seed, hostId) }],
    )
    .sort(
      (one, other) =>
        one.ms - other.ms ||
        one.createsUnderWay - other.createsUnderWay ||
        other.weight - one.weight ||
        (one.hostId < other.hostId ? -1 : 1),
    )
    .map(({ hostId }) => hostId)
}
