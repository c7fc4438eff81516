import { isIP } from 'node:net'
import { hostForm, isHostName, isNetwork } from '@holt/protocol'
import { list } from './list-setting.ts'

/** The operator's settings for the outgoing connections of every runtime. */
export interface EgressConfig {
  /** DNS servers, `ip` or `ip:port`; empty: the host's own. */
  readonly resolvers: readonly string[]
  /** Networks that are not public and may still be reached, if a policy allows a name in them. */
  readonly allowedNetworks: readonly string[]
  /** The real targets of connections to a host. */
  readonly overrides: readonly { host: string; port: number; toHost: string; toPort: number }[]
  /** The file of certificates that are trusted besides those of the system; null: none. */
  readonly caFile: string | null
}

/** Returns a list setting that ignores case, as names and addresses do. */
const smallList = <Item>(parse: (text: string) => Item | null, message: string) =>
  list((text) => parse(text.toLowerCase()), message)

/** The addresses of DNS servers. */
export const Resolvers = smallList(
  (text) => (endpointOf(text, isAddress) ?? (isAddress(text) ? text : null)) && text,
  'must be addresses with or without a port (10.0.0.2, 10.0.0.2:5353, [fd00::2]:53), separated by commas',
)

/** The networks that may be reached. */
export const AllowedNetworks = smallList(
  (text) => (isNetwork(text) ? text : null),
  'must be networks such as 10.1.0.0/16, separated by commas',
)

/** The upstream overrides: `host:port=host:port`. */
export const Overrides = smallList((text) => {
  const [from = '', to = '', ...more] = text.split('=')
  const source = endpointOf(from, (host) => hostForm(host) === 'name')
  const target = endpointOf(to, (host) => isHostName(host) || isAddress(host))
  if (source === null || target === null || more.length > 0) return null
  return { host: source.host, port: source.port, toHost: target.host, toPort: target.port }
}, 'must be HOST:PORT=HOST:PORT, separated by commas')

function endpointOf(text: string, isHost: (host: string) => boolean): { host: string; port: number } | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^[\]:]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  return host === undefined || !isHost(host) || port < 1 || port > 65_535 ? null : { host, port }
}

function isAddress(text: string): boolean {
  return isIP(text) !== 0
}
