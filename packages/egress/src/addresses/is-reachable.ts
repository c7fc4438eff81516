import { mayDial } from './non-public.ts'
import { parseAddress, parseNetwork } from './parse-address.ts'

/**
 * True when an address, as text, is one that a rule could let through: public, or in a network that
 * the operator lists.
 */
export function isReachable(text: string, allowedNetworks: readonly string[]): boolean {
  const address = parseAddress(text)
  return (
    address !== null &&
    mayDial(
      address,
      allowedNetworks.flatMap((network) => parseNetwork(network) ?? []),
    )
  )
}
