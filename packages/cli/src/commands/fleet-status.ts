import type { Host } from '@holt/sdk'

/** A host with its place in a fleet. */
export type HostOfFleet = Host & { readonly fleet: NonNullable<Host['fleet']> }

/** The state of a fleet. */
export interface FleetStatus {
  readonly is_in_fleet: boolean
  /** The version of the protocol that all live hosts speak; null if they have none in common. */
  readonly protocol: number | null
  /**
   * The level of the fleet: the newest version that every host speaks which is not forgotten. New
   * behaviour that all hosts must know begins at a level. Null: there is no host.
   */
  readonly level: number | null
  /** The ids of the hosts that speak nothing newer than the level, while others do. */
  readonly level_kept_by: readonly string[]
  /** The versions of the service on live hosts. */
  readonly versions: readonly string[]
  /** The facts that need an operator, as sentences. */
  readonly problems: readonly string[]
  readonly hosts: readonly HostOfFleet[]
}

/** The difference of a clock that is reported, in seconds. */
const clockWarnSecs = 2

/** Returns the state of a fleet. Hosts that were forgotten count for nothing. */
export function fleetStatusOf(listed: readonly Host[]): FleetStatus {
  const hosts = listed.filter((host): host is HostOfFleet => host.fleet !== null)
  const known = hosts.filter(({ fleet }) => fleet.state !== 'gone')
  const live = known.filter(({ fleet }) => fleet.state !== 'lost')
  const newest = Math.min(...live.map(({ fleet }) => fleet.protocol_max))
  const oldest = Math.max(...live.map(({ fleet }) => fleet.protocol_min))
  const protocol = live.length > 0 && newest >= oldest ? newest : null
  const apart = live.length > 1 && protocol === null ? ['The hosts have no version of their protocol in common.'] : []
  return {
    is_in_fleet: hosts.length > 0,
    protocol,
    ...levelOf(known),
    versions: [...new Set(live.map(({ version }) => version))].sort(),
    problems: [...apart, ...known.flatMap(problemsOf)],
    hosts,
  }
}

function levelOf(known: readonly HostOfFleet[]): Pick<FleetStatus, 'level' | 'level_kept_by'> {
  const newest = known.map(({ fleet }) => fleet.protocol_max)
  const level = known.length === 0 ? null : Math.min(...newest)
  const lowest = known.filter(({ fleet }) => fleet.protocol_max === level)
  return { level, level_kept_by: lowest.length === known.length ? [] : lowest.map(({ host_id }) => host_id) }
}

function problemsOf({ host_id, status, reasons, fleet }: HostOfFleet): readonly string[] {
  const { state, wanted, clock_difference_secs: clock } = fleet
  if (state === 'lost') return [`${host_id} is lost. Start it again, or forget it: holt host forget ${host_id}`]
  if (fleet.silent_secs !== null) return [`${host_id} has been silent for ${fleet.silent_secs} s.`]
  const isOff = clock !== null && Math.abs(clock) >= clockWarnSecs
  return [
    ...(isOff
      ? [`${host_id}: its clock is ${Math.abs(clock)} s ${clock > 0 ? 'ahead of' : 'behind'} the database's.`]
      : []),
    ...(wanted === 'ready' && status === 'not_ready' ? reasons.map((reason) => `${host_id}: ${reason}`) : []),
    // A front is always cordoned. Another host that is wanted leaves that state with its next beat.
    ...(wanted === 'ready' && status === 'not_ready' && reasons.length === 0 && state !== 'cordoned'
      ? [`${host_id} is ${state}.`]
      : []),
  ]
}
