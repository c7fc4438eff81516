import type { DenialReason } from '../contract.ts'
import { canonicalName } from '../names/canonical-name.ts'
import { type ClientHello, handshakeRecord, readClientHello } from '../tls/client-hello.ts'
import type { Look } from './peek.ts'

/** What the first bytes of a connection say. */
export type Opening =
  | { readonly type: 'tls'; readonly hello: ClientHello }
  | { readonly type: 'bad_tls' }
  | { readonly type: 'other' }

/**
 * Looks at the first bytes: TLS is told by its first byte, and is then read as far as the end of
 * its ClientHello.
 */
export function lookAtOpening(bytes: Buffer): Look<Opening> {
  if (bytes[0] !== handshakeRecord) return { type: 'enough', value: { type: 'other' } }
  const hello = readClientHello(bytes)
  if (hello.type === 'incomplete') return { type: 'more', needed: hello.needed }
  return { type: 'enough', value: hello.type === 'hello' ? { type: 'tls', hello } : { type: 'bad_tls' } }
}

/**
 * What is wrong with the server name of a ClientHello; null when nothing is. It has to be the name
 * that the address was handed out for, without a final dot (RFC 6066, 3). With an encrypted client
 * hello the outer name has to be, since that is whom the server answers for. An address that was
 * dialled as such has no name to compare.
 */
export function refuseHello(hello: ClientHello, name: string | null): DenialReason | null {
  if (name === null) return null
  if (hello.serverName === null) return 'sni_missing'
  const isName = !hello.serverName.endsWith('.') && canonicalName(hello.serverName) === name
  return isName ? null : 'sni_mismatch'
}
