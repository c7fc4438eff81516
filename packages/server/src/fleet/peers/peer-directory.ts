import { isIPv6 } from 'node:net'
import type { PeerAddress } from '../../foundation/config/peer-settings.ts'
import type { HostTrust } from '../../foundation/host/host-trust.ts'
import type { ProtocolRange } from './protocol-range.ts'

/** Another host of the fleet, as the directory knows it. */
export interface PeerHost {
  readonly hostId: string
  /** The address of its listener for hosts: `10.1.2.3:4659` or `[fd00::3]:4659`. */
  readonly address: string
  /** True if it is lost, or an operator has removed it. Its certificate proves nothing. */
  readonly isGone: boolean
  /** The versions of the protocol between hosts that it speaks. */
  readonly protocol: ProtocolRange
  /** The trust that the directory gives it. A certificate with another one proves nothing. */
  readonly trust: HostTrust
}

/** The hosts of the fleet. */
export interface PeerDirectory {
  /**
   * Returns a host. Returns null if it was never in the fleet. Each request between hosts asks, so
   * implementations keep the answer in memory for a few seconds.
   */
  find(hostId: string): Promise<PeerHost | null>
}

/** This host, as it sees itself. */
export interface OwnPeer {
  readonly hostId: string
  /** The number of this daemon's start. */
  readonly epoch: number
  /** True while this host may not act on its runtimes. */
  readonly fenced: boolean
}

/** Returns the text of an address: `10.1.2.3:4659` or `[fd00::3]:4659`. */
export function joinAddress({ host, port }: PeerAddress): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`
}

/** Splits an address into host and port. Returns null if it has another form. */
export function splitAddress(address: string): { readonly host: string; readonly port: number } | null {
  const [, bracketed, plain, port] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:\s[\]]+)):(\d{1,5})$/.exec(address) ?? []
  const host = bracketed ?? plain
  return host === undefined || Number(port) > 65_535 ? null : { host, port: Number(port) }
}
