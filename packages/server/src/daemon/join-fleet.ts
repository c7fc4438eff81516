import type { Api } from '../api/api.ts'
import type { FleetParts, OpenPeers } from '../fleet/forwarding/open-peers.ts'

/**
 * Opens the connections with the other hosts of a fleet. Null: the machine is in none. Its service
 * does not even load the code of a fleet.
 */
export async function joinFleet(service: Api, parts: FleetParts | null): Promise<OpenPeers | null> {
  if (parts === null) return null
  const { openPeers } = await import('../fleet/forwarding/open-peers.ts')
  return openPeers(service, parts)
}
