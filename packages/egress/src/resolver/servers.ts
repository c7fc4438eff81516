import { readFile } from 'node:fs/promises'
import { type Address, parseAddress } from '../addresses/parse-address.ts'
import { splitAuthority } from '../names/canonical-name.ts'

/** A DNS server to ask. */
export interface DnsServer {
  readonly address: Address
  readonly port: number
}

/** The time after which `/etc/resolv.conf` is read again, in milliseconds. */
const rereadMs = 10_000

const maxServers = 4

/** Parses `ip`, `ip:port` or `[ipv6]:port`. Returns null for anything else. */
export function parseServer(text: string): DnsServer | null {
  const bare = parseAddress(text)
  if (bare !== null) return { address: bare, port: 53 }
  const authority = splitAuthority(text)
  const address = authority === null ? null : parseAddress(authority.host)
  return address === null ? null : { address, port: authority?.port ?? 53 }
}

/**
 * Returns the servers in the text of a `resolv.conf` (resolv.conf(5)). Unknown lines are skipped.
 */
export function serversOf(resolvConf: string): readonly DnsServer[] {
  return resolvConf
    .split('\n')
    .flatMap((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? [])
    .flatMap((text) => parseServer(text) ?? [])
    .slice(0, maxServers)
}

/**
 * Returns a function that returns the DNS servers to ask: the operator's, or the host's own, which
 * may change while the service runs.
 */
export function makeServerList(resolvers: readonly string[]): () => Promise<readonly DnsServer[]> {
  if (resolvers.length > 0) {
    const servers = resolvers.map((text) => {
      const server = parseServer(text)
      if (server === null) throw new Error(`not a DNS server (ip, ip:port or [ipv6]:port): ${JSON.stringify(text)}`)
      return server
    })
    return async () => servers
  }
  let last: { at: number; servers: Promise<readonly DnsServer[]> } | null = null
  return () => {
    const now = performance.now()
    if (last === null || now - last.at > rereadMs) last = { at: now, servers: readHostServers() }
    return last.servers
  }
}

/** Reads the servers of the host. Without a readable file there are none, so no name resolves. */
async function readHostServers(): Promise<readonly DnsServer[]> {
  return serversOf(await readFile('/etc/resolv.conf', 'utf8').catch(() => ''))
}
