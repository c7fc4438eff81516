import type { Readable } from 'node:stream'

/**
 * One HTTP/2 connection to a runtime's guest, as requests. What comes back is hostile: the link
 * bounds the size of headers, the caller bounds and parses bodies (`GuestClient` does).
 */
export interface GuestLink {
  /**
   * Sends one request. Rejects with `EngineError` kind `unavailable` when the guest is not
   * connected or the connection breaks before the answer's headers. A body that breaks later ends
   * `body` with the same kind. Ending the signal resets the stream.
   */
  request(request: GuestRequest): Promise<GuestResponse>
  /** True when the guest is connected now. */
  readonly connected: boolean
}

/** A request to the guest. */
export interface GuestRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path and query, percent-encoded. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | Readable
  /**
   * True where the answer goes on for as long as what it tells of. Such a one breaks when the
   * runtime is written down, and whoever asked asks anew.
   */
  readonly follows?: boolean
  readonly signal: AbortSignal
}

/** An answer of the guest. Whoever takes it reads `body` to the end or destroys it. */
export interface GuestResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readable
}
