import type { IncomingMessage, ServerResponse } from 'node:http'

/** The headers of requests that pages may send. Browsers have no wildcard for `Authorization`. */
const allowedHeaders = [
  ...['Accept', 'Authorization', 'Content-Type', 'Idempotency-Key', 'X-API-KEY', 'X-Access-Token'],
  ...['Connect-Protocol-Version', 'Connect-Timeout-Ms', 'Keepalive-Ping-Interval', 'E2b-Sandbox-Id'],
  ...['E2b-Sandbox-Port', 'Range', 'lang', 'package_version', 'publisher', 'sdk_runtime', 'system', 'browser'],
].join(', ')

/** The headers of answers that pages may read. */
const exposedHeaders = 'x-next-token, x-request-id, retry-after, content-range, etag'

/** The time for which browsers keep the answer to a preflight, in seconds. */
const preflightSecs = 600

/**
 * Lets pages of the given origins read the answer (https://fetch.spec.whatwg.org/#http-cors-protocol).
 * Cookies are never allowed: a page shows a key or a token. Answers a preflight of these origins
 * itself, and returns true then.
 */
export function allowOrigins(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  origins: readonly string[],
): boolean {
  if (origins.length === 0) return false
  response.setHeader('vary', 'Origin')
  const { origin } = headers
  if (origin === undefined || !origins.includes(origin)) return false
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-expose-headers', exposedHeaders)
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false
  const names = String(headers['access-control-request-headers'] ?? '')
  // Newer clients send further headers. Those of a name alone carry no more rights.
  const wanted = /^[A-Za-z0-9_, -]{1,1000}$/.test(names) ? `${allowedHeaders}, ${names}` : allowedHeaders
  response.writeHead(204, {
    'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': wanted,
    'access-control-max-age': String(preflightSecs),
  })
  response.end()
  return true
}
