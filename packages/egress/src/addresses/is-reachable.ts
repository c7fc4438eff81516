import { mayDial } from './non-public.ts'
import { parseAddress, parseNetwork } from './parse-address.ts'

/**
 * Returns true if a rule could allow this address, given as text: it is public, or in a network
 * that the operator lists.
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
