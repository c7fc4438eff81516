import type { IncomingMessage, ServerResponse } from 'node:http'

/** A request of a client of E2B. */
export interface E2bRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** The path, as it was sent. */
  readonly path: string
  /** The query without its question mark, as it was sent. */
  readonly query: string
  /** The route for metrics and logs: `none` until one is found. */
  route: string
  /** True for a create that another host has placed here. */
  isPlaced: boolean
}
