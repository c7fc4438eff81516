import type { CertifiedKey } from '@holt/egress'
import { makeId } from '@holt/protocol'
import { onTestFinished } from 'vitest'
import { HostCertificate, signHostCertificate } from '../../src/fleet/peers/host-certificate.ts'
import { openPeerAuthority } from '../../src/fleet/peers/peer-authority.ts'
import type { OwnPeer, PeerDirectory, PeerHost } from '../../src/fleet/peers/peer-directory.ts'
import { PeerLinks } from '../../src/fleet/peers/peer-links.ts'
import { PeerListener, type PeerListenerOptions, type PeerStream } from '../../src/fleet/peers/peer-listener.ts'
import { hostProtocol } from '../../src/fleet/peers/protocol-range.ts'
import { type PeerTimes, peerTimes } from '../../src/fleet/peers/wire-limits.ts'
import type { HostTrust } from '../../src/foundation/host/host-trust.ts'
import { keepingLog } from './start-test-server.ts'

/** A directory of hosts that a test writes. */
export class TestDirectory implements PeerDirectory {
  readonly hosts = new Map<string, PeerHost>()

  async find(hostId: string): Promise<PeerHost | null> {
    return this.hosts.get(hostId) ?? null
  }

  /** Adds a host that listens on a port of loopback, or changes it. */
  put(hostId: string, port: number, more: Partial<PeerHost> = {}): void {
    const usual = { isGone: false, trust: 'entry', protocol: hostProtocol } as const
    this.hosts.set(hostId, { hostId, address: `127.0.0.1:${port}`, ...usual, ...more })
  }
}

/** Makes an authority that is stored nowhere. */
export async function newAuthority(): Promise<CertifiedKey> {
  let stored: string | null = null
  return openPeerAuthority({
    read: async () => stored,
    putFirst: async (text) => {
      stored ??= text
      return stored
    },
  })
}

/** Returns a host with a new id. */
export function newOwnPeer(hostId = makeId('host')): OwnPeer & { fenced: boolean } {
  return { hostId, epoch: 1, fenced: false }
}

/** Returns a certificate of a host, which is renewed until the test ends. */
export async function certificateOf(
  authority: CertifiedKey,
  hostId: string,
  { everyMs, trust = 'entry' }: { readonly everyMs?: number; readonly trust?: HostTrust } = {},
): Promise<HostCertificate> {
  const { log } = keepingLog()
  const sign = () => signHostCertificate(authority, hostId, trust)
  const certificate = await HostCertificate.keep({ trust, sign, log, ...(everyMs === undefined ? {} : { everyMs }) })
  onTestFinished(() => certificate.close())
  return certificate
}

/** Starts a listener for hosts that ends with the test, and puts it into the directory. */
export async function startListener(
  authority: CertifiedKey,
  directory: TestDirectory,
  answer: (stream: PeerStream) => Promise<void>,
  more: Partial<PeerListenerOptions> = {},
) {
  const hostId = makeId('host')
  const { log, logged } = keepingLog()
  const certificate = more.certificate ?? (await certificateOf(authority, hostId))
  const options = { host: '127.0.0.1', port: 0, certificate, directory, log, now: Date.now, answer, ...more }
  const listener = await PeerListener.open(options)
  onTestFinished(() => listener.close())
  directory.put(hostId, listener.port)
  return { hostId, listener, logged, port: listener.port }
}

/** Returns the links of a host that is in the directory. */
export async function linksOf(
  authority: CertifiedKey,
  directory: TestDirectory,
  {
    hostId = makeId('host'),
    times = {},
    trust = 'entry',
  }: { readonly hostId?: string; readonly times?: Partial<PeerTimes>; readonly trust?: HostTrust } = {},
): Promise<PeerLinks> {
  if (!directory.hosts.has(hostId)) directory.put(hostId, 1, { trust })
  const { log } = keepingLog()
  const certificate = await certificateOf(authority, hostId, { trust })
  const links = new PeerLinks({ certificate, directory, log, times: { ...peerTimes, ...times } })
  onTestFinished(() => links.close())
  return links
}

/** A signal that never aborts. */
export const never = new AbortController().signal
