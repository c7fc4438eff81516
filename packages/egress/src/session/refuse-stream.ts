import type { ServerHttp2Stream } from 'node:http2'
import type { DenialReason } from '../contract/gateway-contract.ts'

/** The HTTP status of a refused CONNECT, by the reason. Others are 403. */
const statuses: Partial<Readonly<Record<DenialReason, number>>> = {
  bad_request: 400,
  limit: 503,
  name_not_found: 502,
  upstream_refused: 502,
  resolver_failed: 504,
  upstream_timeout: 504,
  upstream_unreachable: 504,
}

/** Refuses a CONNECT that has no response yet. The reason is in `x-holt-reason`. */
export function refuseStream(stream: ServerHttp2Stream, reason: DenialReason): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return
  stream.respond({ ':status': statuses[reason] ?? 403, 'x-holt-reason': reason }, { endStream: true })
  // The bytes that the guest has already sent are read, so that the stream ends.
  stream.resume()
}
