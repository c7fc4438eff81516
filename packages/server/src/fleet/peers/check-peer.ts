import { BlockList, isIP } from 'node:net'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import type { HostTrust } from '../../foundation/host/host-trust.ts'
import { peerDomain } from './peer-authority.ts'
import { type PeerDirectory, splitAddress } from './peer-directory.ts'

/** A host that a connection has proved. */
export interface ProvedPeer {
  readonly hostId: string
  /** The trust that the fleet's authority gives it. */
  readonly trust: HostTrust
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
  return peerOf(socket.getPeerCertificate())
}

/**
 * Returns the host that a certificate of the fleet's authority names. Throws `NoPeer` if it does
 * not name exactly one.
 */
export function peerOf({
  subjectaltname = '',
  valid_to,
}: Pick<PeerCertificate, 'subjectaltname' | 'valid_to'>): ProvedPeer {
  const [, hostId, worker, domain] = /^DNS:(ho[a-z0-9]{20})\.(worker\.)?([a-z.]+)$/.exec(subjectaltname) ?? []
  if (hostId === undefined || domain !== peerDomain) throw new NoPeer('the certificate names no host')
  return { hostId, trust: worker === undefined ? 'entry' : 'worker', validUntil: Date.parse(valid_to) }
}

/**
 * Checks that a listener for hosts has the certificate of a host, as TLS compares the name of a
 * server. The name also tells the trust, so it is not known before. Returns the error if not.
 */
export function otherIdentity(
  certificate: Pick<PeerCertificate, 'subjectaltname' | 'valid_to'>,
  hostId: string,
): Error | undefined {
  try {
    const peer = peerOf(certificate)
    return peer.hostId === hostId ? undefined : new NoPeer(`the certificate names the host ${peer.hostId}`)
  } catch (error) {
    return error as NoPeer
  }
}

/**
 * Checks that a proved host is in the directory with its trust, is not gone, and has the address of
 * the connection. Throws `NoPeer` if not.
 */
export async function requireMember(
  directory: PeerDirectory,
  { hostId, trust, validUntil }: ProvedPeer,
  { address, now }: { readonly address: string | undefined; readonly now: number },
): Promise<void> {
  if (validUntil <= now) throw new NoPeer('the certificate of the host has expired')
  const host = await directory.find(hostId)
  if (host === null) throw new NoPeer('the host is not in the directory')
  if (host.isGone) throw new NoPeer('the host is gone')
  if (host.trust !== trust) throw new NoPeer(`the host is ${host.trust}, and its certificate says ${trust}`)
  if (!isSameAddress(splitAddress(host.address)?.host ?? '', address ?? ''))
    throw new NoPeer(`the host has the address ${host.address}`)
}

/** Returns true if two texts are the same IP address, also if one is mapped to IPv6. */
export function isSameAddress(one: string, other: string): boolean {
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
