import type { Api } from '../api/api.ts'
import type { FleetParts, OpenPeers } from '../fleet/forwarding/open-peers.ts'
import type { Fleet } from '../fleet/open-fleet.ts'
import { followChangesOfOthers } from '../resources/changes-of-others.ts'

/**
 * Opens the connections with the other hosts of a fleet, with the given parts or those of the
 * fleet. Null: the machine is in none. Its service does not even load the code of a fleet.
 */
export async function joinFleet(
  service: Api,
  {
    fleet,
    given,
    places = 'fleet',
  }: { readonly fleet: Fleet | null; readonly given: FleetParts | null; readonly places?: 'fleet' | 'own' | undefined },
): Promise<OpenPeers | null> {
  if (given === null) return fleet?.openPeers(service, places) ?? null
  const { openPeers } = await import('../fleet/forwarding/open-peers.ts')
  return openPeers(service, given)
}

/**
 * Follows what other hosts change, and the cluster of this host, and gives runtimes to other hosts,
 * until the service closes. The promises never reject.
 */
export function followOthers(service: Api, fleet: Fleet): readonly Promise<void>[] {
  const { kubernetes } = service.config
  return [
    fleet.notifyOfOthers(service.eventNotifier),
    followChangesOfOthers(service, () => fleet.noteRead()),
    fleet.keepMoves(service),
    fleet.cleanObjects(service),
    ...(kubernetes === null ? [] : [fleet.followCluster(kubernetes)]),
  ]
}
