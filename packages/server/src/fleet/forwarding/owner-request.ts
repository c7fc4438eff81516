import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import type { Forwardable } from '../../foundation/wire/forwarder.ts'
import type { PeerConnection } from '../peers/peer-connection.ts'

/**
 * The maximum number of bytes of the headers of an owner's answer. A program in a runtime may write
 * them.
 */
const maxAnswerHeaderBytes = 64 * 1024

/** The connection to the owner broke before its answer began. */
export class BrokenOff extends Error {
  override readonly name = 'BrokenOff'
}

/** The parts of a request that begins. With `body`, its headers have no length. */
type Begun = Pick<Forwardable, 'request' | 'target' | 'headers' | 'traceparent'> & { readonly body?: Buffer }

/**
 * Begins a forwarded request on a connection to its owner. The message is written again from its
 * parsed form, so the client's framing does not reach the owner. `upgrade` is the protocol that the
 * client asks for; null: none.
 */
export function beginRequest(
  connection: PeerConnection,
  { request, target, headers, traceparent, body }: Begun,
  upgrade: string | null,
): ClientRequest {
  return httpRequest({
    createConnection: () => connection,
    method: request.method ?? 'GET',
    path: target,
    headers: [
      ...headers,
      ...(traceparent === null ? [] : ['traceparent', traceparent]),
      ...(upgrade === null
        ? ['Connection', 'close', ...(body === undefined ? framing(request) : ['Content-Length', String(body.length)])]
        : ['Connection', 'Upgrade', 'Upgrade', upgrade]),
    ],
    setHost: false,
    maxHeaderSize: maxAnswerHeaderBytes,
  })
}

/** Resolves with the head of the owner's answer. Rejects with `BrokenOff` if none begins. */
export function headOfAnswer(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once('response', (answer) => {
      answer.on('error', () => {
        // The code that sends it back sees that it broke off.
      })
      resolve(answer)
    })
    outgoing.on('error', (cause) => reject(new BrokenOff('the connection to the owner broke', { cause })))
    outgoing.once('close', () => reject(new BrokenOff('the owner closed the connection')))
  })
}

/** Returns the headers that frame a body, which the client's own may not. */
function framing({ method = 'GET', headers }: IncomingMessage): readonly string[] {
  if (headers['transfer-encoding'] !== undefined) return ['Transfer-Encoding', 'chunked']
  // Node would write an empty body in chunks.
  const mayHaveBody = !['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'].includes(method)
  return headers['content-length'] === undefined && mayHaveBody ? ['Content-Length', '0'] : []
}
