import { BlockList, isIP } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { peerDomain } from './peer-authority.ts'
import { type PeerDirectory, splitAddress } from './peer-directory.ts'

/** A host that a connection has proved. */
export interface ProvedPeer {
  readonly hostId: string
  /** The end of its certificate in milliseconds since 1970 UTC. */
  readonly validUntil: number
}

/** The certificate or the address of a connection does not belong to a host of the fleet. */
export class NoPeer extends Error {
  override readonly name = 'NoPeer'
}

/**
 * Returns the host that a connection's certificate names. TLS has checked the authority, the dates
 * and the possession of the key. Throws `NoPeer` if the certificate does not name exactly one host.
 */
export function namedPeer(socket: Pick<TLSSocket, 'authorized' | 'getPeerCertificate'>): ProvedPeer {
  if (!socket.authorized) throw new NoPeer('the certificate is not of the fleet')
  const { subjectaltname = '', valid_to } = socket.getPeerCertificate()
  const [, hostId, domain] = /^DNS:(ho[a-z0-9]{20})\.([a-z.]+)$/.exec(subjectaltname) ?? []
  if (hostId === undefined || domain !== peerDomain) throw new NoPeer('the certificate names no host')
  return { hostId, validUntil: Date.parse(valid_to) }
}

/**
 * Checks that a proved host is in the directory, is not gone, and has the address of the
 * connection. Throws `NoPeer` if not.
 */
export async function requireMember(
  directory: PeerDirectory,
  { hostId, validUntil }: ProvedPeer,
  { address, now }: { readonly address: string | undefined; readonly now: number },
): Promise<void> {
  if (validUntil <= now) throw new NoPeer('the certificate of the host has expired')
  const host = await directory.find(hostId)
  if (host === null) throw new NoPeer('the host is not in the directory')
  if (host.isGone) throw new NoPeer('the host is gone')
  if (!isSameAddress(splitAddress(host.address)?.host ?? '', address ?? ''))
    throw new NoPeer(`the host has the address ${host.address}`)
}

/** Returns true if two texts are the same IP address, also if one is mapped to IPv6. */
function isSameAddress(one: string, other: string): boolean {
  const [known, given] = [unmapped(one), unmapped(other)]
  const [knownFamily, givenFamily] = [isIP(known), isIP(given)]
  if (knownFamily === 0 || knownFamily !== givenFamily) return false
  const family = knownFamily === 4 ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addAddress(known, family)
  return list.check(given, family)
}

function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}
