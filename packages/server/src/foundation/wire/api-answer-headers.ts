import type { IncomingMessage } from 'node:http'
import { endToEndHeaders, type RawHeaders } from './end-to-end-headers.ts'

/** The headers of an API's answer that a host passes on from another one, in lower case. */
const passed: ReadonlySet<string> = new Set([
  'accept-ranges',
  'allow',
  'cache-control',
  'connect-accept-encoding',
  'connect-content-encoding',
  'content-disposition',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'etag',
  'idempotent-replayed',
  'last-modified',
  'retry-after',
  'sec-websocket-accept',
  'sec-websocket-protocol',
  'x-accel-buffering',
  'x-request-id',
])

/**
 * Returns the headers of an API's answer that another host has made. A worker may be in a
 * stranger's hands, and the console has its session at the origin of the API. So the other host
 * cannot set cookies or policies there, and a browser runs no script of the answer.
 */
export function apiAnswerHeaders(answer: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): RawHeaders {
  return [
    ...endToEndHeaders(answer, (name) => !passed.has(name)),
    ...['X-Content-Type-Options', 'nosniff'],
    ...['Content-Security-Policy', "default-src 'none'; sandbox"],
  ]
}
