import type { DenialReason } from '../contract/gateway-contract.ts'
import { canonicalName } from '../names/canonical-name.ts'
import type { Look } from '../streams/peek.ts'
import { type ClientHello, handshakeRecord, readClientHello } from '../tls/client-hello.ts'

/** The protocol of a connection's first bytes. */
export type Opening =
  | { readonly type: 'tls'; readonly hello: ClientHello }
  | { readonly type: 'bad_tls' }
  | { readonly type: 'other' }

/**
 * Inspects the first bytes. The first byte identifies TLS, which is then read up to the end of its
 * ClientHello.
 */
export function lookAtOpening(bytes: Buffer): Look<Opening> {
  if (bytes[0] !== handshakeRecord) return { type: 'enough', value: { type: 'other' } }
  const hello = readClientHello(bytes)
  if (hello.type === 'incomplete') return { type: 'more', needed: hello.needed }
  return { type: 'enough', value: hello.type === 'hello' ? { type: 'tls', hello } : { type: 'bad_tls' } }
}

/**
 * Returns the problem with the server name of a ClientHello, or null. The name must be the one that
 * the address was assigned for, without a final dot (RFC 6066, 3). With an encrypted client hello
 * this applies to the outer name, because the server answers for that. An address that was dialled
 * as such has no name to compare.
 */
export function refuseHello(hello: ClientHello, name: string | null): DenialReason | null {
  if (name === null) return null
  if (hello.serverName === null) return 'sni_missing'
  const isName = !hello.serverName.endsWith('.') && canonicalName(hello.serverName) === name
  return isName ? null : 'sni_mismatch'
}
