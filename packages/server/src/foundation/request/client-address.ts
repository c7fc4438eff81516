import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** The parts of a request that tell the address of its client. */
interface Sent {
  readonly headers: IncomingHttpHeaders
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** The proxies before the service whose `X-Forwarded-For` is believed. */
export class TrustedProxies {
  readonly #networks = new BlockList()

  /** `networks` are CIDR prefixes. */
  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [address = '', length = ''] = network.split('/')
      this.#networks.addSubnet(address, Number(length), isIP(address) === 6 ? 'ipv6' : 'ipv4')
    }
  }

  /** Returns true if an address is that of a trusted proxy. */
  has(address: string): boolean {
    const plain = withoutMapping(address)
    const version = isIP(plain)
    return version !== 0 && this.#networks.check(plain, version === 6 ? 'ipv6' : 'ipv4')
  }

  /**
   * Returns the address of a client behind trusted proxies: the rightmost address of
   * `X-Forwarded-For` that no trusted proxy has. Each proxy appends the address that it sees, so
   * everything to the left of that one is the client's own claim. An entry that is no address ends
   * the search at the last trusted proxy.
   */
  clientOf(peer: string, forwardedFor: string): string {
    let client = peer
    for (const entry of forwardedFor.split(',').toReversed()) {
      if (!this.has(client)) return client
      const address = addressOf(entry.trim())
      if (address === null) return client
      client = address
    }
    return client
  }
}

/** The proxies of the connections of clients that come from a trusted proxy. */
const proxied = new WeakMap<Sent['socket'], TrustedProxies>()

/** Notes a connection that a client's listener has accepted. */
export function noteProxies(socket: Sent['socket'], proxies: TrustedProxies): void {
  if (socket.remoteAddress !== undefined && proxies.has(socket.remoteAddress)) proxied.set(socket, proxies)
}

/**
 * Returns the address of the client of a request. Undefined if the client has disconnected. Only a
 * connection of a trusted proxy is asked for more than its own address.
 */
export function clientAddress({ headers, socket }: Sent): string | undefined {
  const peer = socket.remoteAddress
  const proxies = proxied.get(socket)
  const claim = headers['x-forwarded-for']
  if (peer === undefined || proxies === undefined || claim === undefined) return peer
  return proxies.clientOf(peer, Array.isArray(claim) ? claim.join(',') : claim)
}

/** Returns the address in an entry, such as `192.0.2.1:80`, `2001:db8::1` or `[2001:db8::1]:80`. */
function addressOf(entry: string): string | null {
  const address = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(entry)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(entry)?.[1] ?? entry
  return isIP(address) === 0 ? null : withoutMapping(address)
}

/** Returns an IPv4 address that is written in IPv6 as an IPv4 address. */
function withoutMapping(address: string): string {
  return /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address)?.[1] ?? address
}
