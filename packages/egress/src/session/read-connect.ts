import type { IncomingHttpHeaders } from 'node:http2'
import { type Address, parseAddress } from '../addresses/parse-address.ts'
import { isSynthetic, type SyntheticAddresses } from '../addresses/synthetic-addresses.ts'
import type { DenialReason } from '../contract/gateway-contract.ts'
import { splitAuthority } from '../names/canonical-name.ts'
import type { Target } from '../policy/decide.ts'

/** The target of a CONNECT, or the reason why it is refused. */
export type ReadConnect =
  | { readonly type: 'target'; readonly target: Target; readonly address: Address }
  | {
      readonly type: 'refused'
      readonly reason: DenialReason
      readonly address: string | null
      readonly port: number | null
    }

/**
 * Reads the authority of a CONNECT: the address that a program dialled, never a name. A synthetic
 * address becomes exactly the name that it was assigned for. Any other address is a literal.
 */
export function readConnect(headers: IncomingHttpHeaders, addresses: SyntheticAddresses): ReadConnect {
  const refused = (reason: DenialReason, address: string | null = null, port: number | null = null): ReadConnect => {
    return { type: 'refused', reason, address, port }
  }
  const authority = splitAuthority(headers[':authority'] ?? '')
  const address = authority === null ? null : parseAddress(authority.host)
  if (headers[':protocol'] !== undefined || address === null) return refused('bad_request')
  const port = authority?.port ?? null
  if (port === null) return refused('bad_request', address.text)
  if (!isSynthetic(address)) return { type: 'target', target: { name: null, address, port }, address }
  const name = addresses.nameOf(address)
  if (name === null) return refused('unknown_address', address.text, port)
  return { type: 'target', target: { name, port }, address }
}
