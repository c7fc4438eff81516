/** The creates a second for which one home is enough: half of what its restores can make. */
const createsPerHome = 20
const least = 2

/**
 * Returns the number of homes of a template, at least 2 and at most the ready hosts. Each entry
 * sees its own creates alone, and takes the other entries to see as many.
 */
export function homesWanted(demand: {
  /** The creates a second of this template at this entry. */
  readonly createsPerSecond: number
  readonly entries: number
  readonly readyHosts: number
}): number {
  const wanted = Math.ceil((demand.createsPerSecond * demand.entries) / createsPerHome)
  return Math.min(demand.readyHosts, Math.max(least, wanted))
}
