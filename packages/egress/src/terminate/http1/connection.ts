import { type Agent, type IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { ConnectionToTerminate } from '../terminator.ts'
import type { Upstream } from '../upstream.ts'
import type { Turns } from './turns.ts'

/** One connection of a runtime that speaks HTTP/1.1, and what is on its other side. */
export interface Http1Connection {
  readonly connection: ConnectionToTerminate
  readonly upstream: Upstream
  readonly agent: Agent
  /**
   * Requests that wait for those before them: answers keep their order, and one upstream connection
   * is enough.
   */
  readonly turns: Turns
}

/** A way to answer what has been taken over from HTTP. */
export function responseOn(socket: Duplex, request: IncomingMessage): ServerResponse {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  // A response takes any duplex stream; its type names the usual one.
  response.assignSocket(socket as TLSSocket)
  response.once('finish', () => socket.end())
  return response
}
