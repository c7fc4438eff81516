import { HoltError } from '@holt/protocol'
import type { Foundation } from '../../foundation/foundation.ts'
import type { JoinTokenRow } from '../../foundation/store/tables.ts'
import { openPeerAuthority, sealedPlace } from '../peers/peer-authority.ts'
import { joinTokenText, maxFronts } from './join-token.ts'
import { type JoinTokenTerms, makeJoinToken } from './join-tokens.ts'

type Parts = Pick<Foundation, 'store' | 'now' | 'masterKeys' | 'hosts' | 'thisHost'>

/**
 * Makes a join token of the fleet of this host. Returns its row, and its text, which contains the
 * secret. Throws `conflict` on a worker, and `unavailable` if this host knows no address yet.
 */
export async function makeFleetToken(
  service: Parts,
  terms: JoinTokenTerms,
): Promise<{ readonly row: JoinTokenRow; readonly text: string }> {
  const { store, masterKeys } = service
  if (masterKeys === null) throw new HoltError('conflict', 'A worker cannot make tokens. Ask a front.')
  const fronts = addressesToJoin(service)
  if (fronts.length === 0) throw new HoltError('unavailable', 'The host has not read the table of hosts yet.')
  const { certificatePem: ca } = await openPeerAuthority(sealedPlace(store, masterKeys))
  const { id, secret, row } = await makeJoinToken(service, terms)
  return { row, text: joinTokenText({ ca, fronts, id, secret }) }
}

/**
 * Returns the addresses at which workers join: of hosts with keys that serve requests, this one
 * first. A front is one of them, although it is always cordoned.
 */
function addressesToJoin({ hosts, thisHost }: Pick<Parts, 'hosts' | 'thisHost'>): readonly string[] {
  const isOwn = ({ host_id }: { readonly host_id: string }) => host_id === thisHost.hostId
  const serving = hosts.rows.filter(
    (row) => row.trust === 'entry' && row.state !== 'joining' && (isOwn(row) || hosts.silentMs(row.host_id) === null),
  )
  return [...serving.filter(isOwn), ...serving.filter((row) => !isOwn(row))]
    .slice(0, maxFronts)
    .map(({ address }) => address)
}
