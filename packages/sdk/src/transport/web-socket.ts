/**
 * The part of a WebSocket (WHATWG) that an attachment needs. Browsers, Node 22 and newer, and the
 * package `ws` have it.
 */
export interface WebSocketLike {
  binaryType: string
  onopen: ((event: never) => void) | null
  onmessage: ((event: never) => void) | null
  onclose: ((event: never) => void) | null
  onerror: ((event: never) => void) | null
  send(data: string | Uint8Array<ArrayBuffer>): void
  close(code?: number, reason?: string): void
}

/** The class of a WebSocket. */
export type WebSocketClass = new (url: string, protocols: string[]) => WebSocketLike
