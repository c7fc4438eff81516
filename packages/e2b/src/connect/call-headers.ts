import type { IncomingHttpHeaders } from 'node:http'
import { ConnectError } from '../errors/connect-error.ts'

/** The interval of keepalives without a header, and the bounds of the header, in seconds. */
const defaultKeepaliveSecs = 90
const maxKeepaliveSecs = 3600

/** Returns the life of a call in milliseconds. Null: the client set no end. */
export function callTimeoutMs(headers: IncomingHttpHeaders): number | null {
  const value = headers['connect-timeout-ms']
  if (value === undefined) return null
  // The specification allows at most ten digits.
  if (typeof value !== 'string' || !/^\d{1,10}$/.test(value))
    throw new ConnectError('invalid_argument', 'Connect-Timeout-Ms must be a number of milliseconds.')
  return Number(value) === 0 ? null : Number(value)
}

/** Returns the interval of keepalives in milliseconds. */
export function keepaliveMs(headers: IncomingHttpHeaders): number {
  const value = headers['keepalive-ping-interval']
  const seconds = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : 0
  return 1000 * Math.min(seconds === 0 ? defaultKeepaliveSecs : seconds, maxKeepaliveSecs)
}

/**
 * Returns the user of Basic authentication, which clients send as `<user>:`. Null: they name none.
 */
export function namedUser(headers: IncomingHttpHeaders): string | null {
  const [, encoded] = /^basic +([A-Za-z0-9+/_-]+={0,2})$/i.exec(headers.authorization ?? '') ?? []
  if (encoded === undefined) return null
  const [name = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':', 1)
  return name === '' ? null : name
}

/** Returns the media type of a request, in lower case and without parameters. */
export function mediaType(headers: IncomingHttpHeaders): string {
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1)
  return type.trim().toLowerCase()
}
