import { type Agent, type IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { ConnectionToTerminate } from '../../contract/terminator.ts'
import type { Upstream } from '../requests/upstream.ts'
import type { SerialQueue } from './serial-queue.ts'

/** One connection of a runtime that speaks HTTP/1.1, and its upstream. */
export interface Http1Connection {
  readonly connection: ConnectionToTerminate
  readonly upstream: Upstream
  readonly agent: Agent
  /**
   * The queue of requests. It keeps the order of the responses, and one upstream connection is
   * enough.
   */
  readonly queue: SerialQueue
}

/** Returns a response on a socket that was taken over from HTTP. */
export function responseOn(socket: Duplex, request: IncomingMessage): ServerResponse {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  // A response accepts any duplex stream, but its type names the usual one.
  response.assignSocket(socket as TLSSocket)
  response.once('finish', () => socket.end())
  return response
}
