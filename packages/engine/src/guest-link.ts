import type { Readable } from 'node:stream'

/**
 * One HTTP/2 connection to a runtime's guest, as requests. The answers are hostile. The link bounds
 * the size of headers; the caller bounds and parses bodies (`GuestClient` does).
 */
export interface GuestLink {
  /**
   * Sends one request. Rejects with `EngineError` kind `unavailable` if the guest is not connected,
   * or the connection breaks before the answer's headers. A body that breaks later ends `body` with
   * the same kind. Ending the signal resets the stream.
   */
  request(request: GuestRequest): Promise<GuestResponse>
  /** True if the guest is connected now. */
  readonly connected: boolean
}

/** A request to the guest. */
export interface GuestRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The path and query, percent-encoded. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | Readable
  /**
   * True if the answer continues for as long as its subject. Such an answer breaks when a
   * checkpoint of the runtime is taken, and the caller asks again.
   */
  readonly follows?: boolean
  /**
   * True if the answer, once it has begun, is no use of the runtime by itself. It may wait for
   * long, and its user notes each use.
   */
  readonly idles?: boolean
  readonly signal: AbortSignal
}

/** An answer of the guest. The receiver reads `body` to the end or destroys it. */
export interface GuestResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readable
}
