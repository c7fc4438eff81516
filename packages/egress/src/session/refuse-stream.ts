import type { ServerHttp2Stream } from 'node:http2'
import type { DenialReason } from '../contract.ts'

/** HTTP status of a CONNECT that is not carried, by the reason; others are 403. */
const statuses: Partial<Readonly<Record<DenialReason, number>>> = {
  bad_request: 400,
  limit: 503,
  name_not_found: 502,
  upstream_refused: 502,
  resolver_failed: 504,
  upstream_timeout: 504,
  upstream_unreachable: 504,
}

/** Refuses a CONNECT that has not been answered yet, and says why in `x-holt-reason`. */
export function refuseStream(stream: ServerHttp2Stream, reason: DenialReason): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return
  stream.respond({ ':status': statuses[reason] ?? 403, 'x-holt-reason': reason }, { endStream: true })
  // What the guest has sent already is read, so that the stream ends.
  stream.resume()
}
