import type { IncomingMessage } from 'node:http'
import { hopByHopHeaders, portTokenHeader } from '@holt/protocol'
import { foreignCookies, isApiKey, portCookie } from './credentials.ts'
import type { PortTarget } from './port-target.ts'

/** Headers as Node writes and reads them raw: name, value, name, value. */
export type RawHeaders = readonly string[]

/** Fields that end here. `Trailer` is written anew if trailers are passed on. */
const hopByHop = [...hopByHopHeaders, 'trailer'] as const

/** Headers that only the service sends to a program. */
const ours = ['content-length', 'cookie', 'expect', 'forwarded', 'host', 'x-real-ip', portTokenHeader] as const

/** Policies of a whole origin, which in the path form is the API's. */
const policiesOfOrigin = [
  'accept-ch',
  'alt-svc',
  'clear-site-data',
  'nel',
  'origin-agent-cluster',
  'public-key-pins',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'strict-transport-security',
] as const

/**
 * Names that a trailer never has (RFC 9110, 6.5.1): framing, routing, authentication and what is
 * read before the content.
 */
const neverTrailers: ReadonlySet<string> = new Set([
  ...hopByHop,
  ...ours,
  ...policiesOfOrigin,
  'authorization',
  'content-encoding',
  'content-range',
  'content-type',
  'location',
  'set-cookie',
  'www-authenticate',
])

/**
 * The protocol that a request asks to change to, if it is one that is carried. HTTP/2 is not: it
 * would be another way to say who one is.
 */
export function upgradeOf({ headers }: IncomingMessage): string | null {
  const { upgrade = '' } = headers
  const asked = (headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .some((option) => option.trim() === 'upgrade')
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
  return asked && !hasBody && /^[A-Za-z0-9!#$%&'*+.^_`|~/-]{1,64}$/.test(upgrade) && !/^h2c?$/i.test(upgrade)
    ? upgrade
    : null
}

/**
 * The headers that a program is sent. Framing is our own, hop-by-hop fields end here, and what
 * opens the port is not passed on.
 */
export function requestHeaders(
  request: IncomingMessage,
  { target, scheme, upgrade }: { target: PortTarget; scheme: string; upgrade: string | null },
): RawHeaders {
  const dropped = new Set<string>([...hopByHop, ...ours, ...connectionOptions(request)])
  const passed = pairs(request.rawHeaders).filter(([name, value]) => {
    const lower = name.toLowerCase()
    if (dropped.has(lower) || lower.startsWith('x-forwarded-')) return false
    return lower !== 'authorization' || !isApiKey(value)
  })
  const host = request.headers.host ?? `localhost:${target.port}`
  const cookies = foreignCookies(request)
  const trailers = upgrade === null && wantsTrailers(request)
  return [
    ...['Host', host],
    ...passed.flat(),
    ...(cookies === null ? [] : ['Cookie', cookies]),
    ...['X-Forwarded-For', request.socket.remoteAddress ?? 'unknown'],
    ...['X-Forwarded-Host', host, 'X-Forwarded-Proto', scheme],
    ...(target.prefix === '' ? [] : ['X-Forwarded-Prefix', target.prefix]),
    ...(trailers ? ['TE', 'trailers'] : []),
    ...(upgrade === null
      ? ['Connection', trailers ? 'close, TE' : 'close', ...framing(request)]
      : ['Connection', 'Upgrade', 'Upgrade', upgrade]),
  ]
}

/**
 * The headers that a client is sent: without what is for one connection, and in the path form
 * nothing that reaches beyond the port's own path.
 */
export function responseHeaders(answer: IncomingMessage, target: PortTarget): RawHeaders {
  const dropped = new Set<string>([...hopByHop, ...connectionOptions(answer)])
  if (target.form !== 'host') for (const name of policiesOfOrigin) dropped.add(name)
  return pairs(answer.rawHeaders).flatMap(([name, value]) => {
    const lower = name.toLowerCase()
    if (dropped.has(lower) || !isSound(name, value)) return []
    if (lower === 'set-cookie') {
      const cookie = confinedCookie(value, target)
      return cookie === null ? [] : [name, cookie]
    }
    return [name, lower === 'location' ? confinedLocation(value, target) : value]
  })
}

/** The trailers that may be passed on. */
export function passedTrailers(rawTrailers: RawHeaders): [string, string][] {
  return pairs(rawTrailers).filter(([name, value]) => !neverTrailers.has(name.toLowerCase()) && isSound(name, value))
}

/**
 * Returns the header that announces the trailers of a program's answer. Returns no fields if it
 * announces none, or if the answer to the client is not chunked.
 */
export function announcedTrailers(answer: IncomingMessage, request: IncomingMessage): RawHeaders {
  const chunked = (answer.headers['transfer-encoding'] ?? '').toLowerCase() === 'chunked'
  const hasBody = request.method !== 'HEAD' && answer.statusCode !== 204 && answer.statusCode !== 304
  if (!chunked || !hasBody || request.httpVersion !== '1.1') return []
  const names = String(answer.headers.trailer ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => isSound(name, '') && !neverTrailers.has(name.toLowerCase()))
  return names.length === 0 ? [] : ['Trailer', names.join(', ')]
}

/** Returns true if a client asks for trailers (RFC 9110, 10.1.4). */
function wantsTrailers({ headers }: IncomingMessage): boolean {
  return String(headers.te ?? '')
    .toLowerCase()
    .split(',')
    .some((coding) => coding.trim() === 'trailers')
}

function framing({ headers }: IncomingMessage): readonly string[] {
  if (headers['transfer-encoding'] !== undefined) return ['Transfer-Encoding', 'chunked']
  return headers['content-length'] === undefined ? [] : ['Content-Length', headers['content-length']]
}

/** The fields that a message's `Connection` says are for this connection. */
function connectionOptions({ headers }: IncomingMessage): readonly string[] {
  return (headers.connection ?? '')
    .split(',')
    .map((option) => option.trim().toLowerCase())
    .filter((option) => option !== '')
}

/**
 * A cookie stays on the port's own host, and in the path form below its own path. Ours is not a
 * program's to set.
 */
function confinedCookie(cookie: string, { prefix }: PortTarget): string | null {
  const [pair = '', ...attributes] = cookie.split(';').map((part) => part.trim())
  if (pair.split('=', 1)[0]?.trim() === portCookie) return null
  const nameOf = (attribute: string) => attribute.split('=', 1)[0]?.trim().toLowerCase()
  const kept = attributes.filter((attribute) => nameOf(attribute) !== 'domain')
  if (prefix === '') return [pair, ...kept].join('; ')
  const path =
    kept
      .findLast((attribute) => nameOf(attribute) === 'path')
      ?.split('=', 2)[1]
      ?.trim() ?? '/'
  const others = kept.filter((attribute) => nameOf(attribute) !== 'path')
  return [pair, ...others, `Path=${prefix}${path.startsWith('/') ? path : '/'}`].join('; ')
}

/** In the path form a redirect to a path of the program's own leads below the port's path. */
function confinedLocation(location: string, { prefix }: PortTarget): string {
  return prefix !== '' && /^\/(?![/\\])/.test(location) ? prefix + location : location
}

function isSound(name: string, value: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

function pairs(raw: RawHeaders): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at] ?? '', raw[2 * at + 1] ?? ''])
}
