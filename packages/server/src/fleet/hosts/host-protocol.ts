import { judgedStates } from '../../foundation/host/host-row.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import { highestCommon, hostProtocol, type ProtocolRange, rangeOfRow } from '../peers/protocol-range.ts'

/** The columns that say what a host speaks. */
type SpeakingHost = Pick<HostRow, 'host_id' | 'version' | 'protocol_min' | 'protocol_max'>

/** Throws if another host of the fleet has no version of the protocol in common with this one. */
export async function requireCommonProtocol({ db }: Pick<Store, 'db'>, hostId: string): Promise<void> {
  const others = await db
    .selectFrom('hosts')
    .select(['host_id', 'version', 'protocol_min', 'protocol_max'])
    .where('host_id', '!=', hostId)
    .where('state', 'not in', judgedStates)
    .where('protocol_max', '>', 0)
    .execute()
  const stranger = findStranger(others, hostProtocol)
  if (stranger !== null)
    throw new Error(
      `this version speaks the versions ${hostProtocol.min} to ${hostProtocol.max} of the protocol between hosts, and the host ${stranger.host_id} (${stranger.version}) speaks ${stranger.protocol_min} to ${stranger.protocol_max}. Upgrade a fleet by one release at a time, or forget the host if it is gone`,
    )
}

/** Returns a host that has no version in common with a range; null if there is none. */
export function findStranger<Host extends SpeakingHost>(hosts: readonly Host[], range: ProtocolRange): Host | null {
  return hosts.find((host) => highestCommon(rangeOfRow(host), range) === null) ?? null
}
