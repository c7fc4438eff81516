import { networkInterfaces } from 'node:os'
import { mayDial } from '../addresses/non-public.ts'
import { type Address, contains, type Network, parseAddress, parseNetwork } from '../addresses/parse-address.ts'
import type { DenialReason, EgressSettings, UpstreamOverride } from '../contract/gateway-contract.ts'
import { canonicalName } from '../names/canonical-name.ts'
import type { Target } from '../policy/decide.ts'
import type { LookupResult } from '../resolver/resolver.ts'

/** The real destination of a connection: checked addresses, which are dialled unchanged. */
export type Upstream =
  | { readonly type: 'found'; readonly addresses: readonly Address[]; readonly port: number }
  | { readonly type: 'refused'; readonly reason: DenialReason; readonly address: Address | null }

/** The operator's settings, parsed once. */
export interface UpstreamRules {
  readonly allowedNetworks: readonly Network[]
  readonly overrides: readonly UpstreamOverride[]
}

/**
 * Parses the settings for the destinations of connections. Throws an `Error` that quotes the wrong
 * one.
 */
export function makeUpstreamRules(settings: EgressSettings): UpstreamRules {
  const allowedNetworks = settings.allowedNetworks.map((text) => {
    const network = parseNetwork(text)
    if (network === null) throw new Error(`not a network (CIDR): ${JSON.stringify(text)}`)
    return network
  })
  const overrides = settings.overrides.map((override) => {
    const { host, toHost } = { host: canonicalHost(override.host), toHost: canonicalHost(override.toHost) }
    if (host === null || toHost === null) throw new Error(`not a host name or address: ${JSON.stringify(override)}`)
    return { ...override, host, toHost }
  })
  return { allowedNetworks, overrides }
}

/**
 * Finds the addresses of a target: those of the operator's override, of the name now, or the
 * literal. Without an override, addresses that are not public and those of this machine are left
 * out unless the operator listed them.
 */
export async function findUpstream(
  target: Target,
  rules: UpstreamRules,
  lookup: (name: string) => Promise<LookupResult>,
): Promise<Upstream> {
  const host = target.name ?? target.address.text
  const override = rules.overrides.find((entry) => entry.host === host && entry.port === target.port)
  const port = override?.toPort ?? target.port
  const asked = override?.toHost ?? host
  const literal = parseAddress(asked)
  const found: LookupResult = literal === null ? await lookup(asked) : { type: 'found', addresses: [literal] }
  if (found.type !== 'found') {
    const reason = found.type === 'failed' ? 'resolver_failed' : 'name_not_found'
    return { type: 'refused', reason, address: null }
  }
  const own = override === undefined ? ownAddresses() : []
  const addresses =
    override === undefined
      ? found.addresses.filter((address) => {
          const isOwn = own.includes(address.text)
          if (isOwn && !rules.allowedNetworks.some((network) => contains(network, address))) return false
          return mayDial(address, rules.allowedNetworks)
        })
      : found.addresses
  if (addresses.length > 0) return { type: 'found', addresses, port }
  return { type: 'refused', reason: 'non_public', address: found.addresses[0] ?? null }
}

/**
 * Returns the public addresses of this machine. A service that listens there may expect only
 * neighbours as clients.
 */
function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .flatMap(({ address }) => parseAddress(address)?.text ?? [])
}

function canonicalHost(text: string): string | null {
  return parseAddress(text)?.text ?? canonicalName(text)
}
