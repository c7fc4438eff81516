import { embeddedAddresses } from '../addresses/non-public.ts'
import { type Address, contains, parseAddress, parseNetwork } from '../addresses/parse-address.ts'
import type { EffectivePolicy } from '../contract/gateway-contract.ts'
import type { Upstream } from './find-upstream.ts'

type Denials = Pick<EffectivePolicy, 'deny'>

/** Removes the addresses that a policy denies. Refuses a destination that has no others. */
export function withoutDenied({ deny }: Denials, upstream: Upstream): Upstream {
  if (upstream.type === 'refused' || deny.length === 0) return upstream
  const addresses = upstream.addresses.filter((address) => !isDenied({ deny }, address))
  if (addresses.length > 0) return { ...upstream, addresses }
  return { type: 'refused', reason: 'denied_network', address: upstream.addresses[0] ?? null }
}

/** Returns true if a policy denies the address of an open connection, as the socket names it. */
export function deniesPeer({ deny }: Denials, text: string | undefined): boolean {
  const address = text === undefined || deny.length === 0 ? null : parseAddress(text)
  return address !== null && isDenied({ deny }, address)
}

/**
 * Returns true for a denied address. An IPv6 address that stands for an IPv4 address is denied with
 * it.
 */
function isDenied({ deny }: Denials, address: Address): boolean {
  const all = [address, ...embeddedAddresses(address)]
  return deny.some((text) => {
    const network = parseNetwork(text)
    // Text that is not a network denies everything: a policy never opens by mistake.
    return network === null || all.some((one) => contains(network, one))
  })
}
