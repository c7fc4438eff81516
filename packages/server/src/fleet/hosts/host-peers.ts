import { isJudged } from '../../foundation/host/host-row.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import type { PeerDirectory, PeerHost } from '../peers/peer-directory.ts'
import { rangeOfRow } from '../peers/protocol-range.ts'
import type { SeenHosts } from './seen-hosts.ts'

/** The hosts of the table, as the connections between hosts need them. */
export class HostPeers implements PeerDirectory {
  readonly #store: Pick<Store, 'db'>
  readonly #hosts: Pick<SeenHosts, 'rows'>

  constructor(store: Pick<Store, 'db'>, hosts: Pick<SeenHosts, 'rows'>) {
    this.#store = store
    this.#hosts = hosts
  }

  async find(hostId: string): Promise<PeerHost | null> {
    const seen = this.#hosts.rows.find(({ host_id }) => host_id === hostId)
    if (seen !== undefined && isSettled(seen)) return peerOf(seen)
    // It may have joined, or started again, since the last read.
    const row = await this.#store.db
      .selectFrom('hosts')
      .select(['host_id', 'address', 'state', 'trust', 'protocol_min', 'protocol_max'])
      .where('host_id', '=', hostId)
      .executeTakeFirst()
    return row === undefined ? null : peerOf(row)
  }
}

/** Returns true if a host serves requests at its address. */
function isSettled(row: HostRow): boolean {
  return row.state !== 'joining' && !isJudged(row)
}

/** A lost host counts as gone until it starts again: nobody believes what it says of callers. */
function peerOf(
  row: Pick<HostRow, 'host_id' | 'address' | 'state' | 'trust' | 'protocol_min' | 'protocol_max'>,
): PeerHost {
  const { host_id: hostId, address, trust } = row
  return { hostId, address, isGone: isJudged(row), trust, protocol: rangeOfRow(row) }
}
