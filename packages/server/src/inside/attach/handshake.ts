import type { IncomingHttpHeaders } from 'node:http'
import { attachConsolePrefix, attachKeyPrefix, attachProtocol, HoltError } from '@holt/protocol'
import type { Proof } from '../../tenancy/auth/authenticate.ts'
import { sessionProof } from '../../tenancy/auth/proof-of.ts'
import type { PageRequest } from '../../tenancy/console/own-page.ts'
import type { Inside } from '../inside.ts'

/**
 * Returns the proof of a WebSocket's request. Browsers cannot set the `Authorization` header and
 * send a key among the subprotocols, or the session of the console that they use. A
 * request with more than one of them is refused, because they could differ.
 */
export function handshakeProof({ config }: Pick<Inside, 'config'>, request: PageRequest): Proof {
  const { headers } = request
  const [key, ...others] = subprotocolsOf(headers).filter(
    (name) => name.startsWith(attachKeyPrefix) || (config.console && name.startsWith(attachConsolePrefix)),
  )
  if (key === undefined) return headers.authorization
  if (others.length > 0 || headers.authorization !== undefined)
    throw new HoltError('invalid_request', 'The request has more than one API key.')
  if (key.startsWith(attachKeyPrefix)) return `Bearer ${key.slice(attachKeyPrefix.length)}`
  return sessionProof(request, key.slice(attachConsolePrefix.length))
}

/**
 * Refuses a request that is not a WebSocket handshake (RFC 6455, 4.2.1). The library would refuse
 * it in its own words.
 */
export function requireHandshake(headers: IncomingHttpHeaders): void {
  const offered = subprotocolsOf(headers)
  if (!/^[A-Za-z0-9+/]{22}==$/.test(headers['sec-websocket-key'] ?? '') || headers['sec-websocket-version'] !== '13')
    throw new HoltError('invalid_request', 'This is not a WebSocket handshake of version 13.')
  if (new Set(offered).size < offered.length || !offered.every((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name)))
    throw new HoltError('invalid_request', 'The Sec-WebSocket-Protocol header is not a list of different names.')
  if (offered.length > 0 && !offered.includes(attachProtocol))
    throw new HoltError('invalid_request', `The only subprotocol is ${attachProtocol}: name it, or none.`)
}

function subprotocolsOf(headers: IncomingHttpHeaders): readonly string[] {
  const header = headers['sec-websocket-protocol']
  return header === undefined ? [] : header.split(',').map((name) => name.trim())
}
