import type { IncomingHttpHeaders } from 'node:http'
import { attachKeyPrefix, attachProtocol, HoltError } from '@holt/protocol'

/**
 * Returns the value that serves as a WebSocket's `Authorization` header. Browsers cannot set the
 * header and send a key among the subprotocols. A request with both is refused, because the two
 * could differ.
 */
export function authorizationOf(headers: IncomingHttpHeaders): string | undefined {
  const keys = subprotocolsOf(headers).filter((name) => name.startsWith(attachKeyPrefix))
  if (keys.length === 0) return headers.authorization
  if (keys.length > 1 || headers.authorization !== undefined)
    throw new HoltError('invalid_request', 'The request has more than one API key.')
  return `Bearer ${keys[0]?.slice(attachKeyPrefix.length)}`
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
