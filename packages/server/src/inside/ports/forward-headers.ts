import type { IncomingMessage } from 'node:http'
import { hopByHopHeaders, portTokenHeader } from '@holt/protocol'
import { clientAddress } from '../../foundation/request/client-address.ts'
import { connectionOptions, headerPairs, type RawHeaders } from '../../foundation/wire/end-to-end-headers.ts'
import { isFleetHeader } from '../../tenancy/auth/credential-headers.ts'
import type { PortMasks } from './admit-to-port.ts'
import { foreignCookies, isApiKey, isOwnCookie } from './port-credentials.ts'
import type { PortTarget } from './port-target.ts'

/** The fields that are not forwarded. `Trailer` is written again if trailers are forwarded. */
const hopByHop = [...hopByHopHeaders, 'trailer'] as const

/** Headers that only the service sends to a program. */
const ours = ['content-length', 'cookie', 'expect', 'forwarded', 'host', 'x-real-ip', portTokenHeader] as const

/** The headers that apply to a whole origin. In the path form, that is the API's origin. */
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
 * The policy of answers at the API's origin. It gives each page an opaque origin. Its scripts
 * cannot act as pages of the API's origin, where the console has its session, or of other ports.
 */
const sandboxPolicy = 'sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts'

const policyName = /^content-security-policy$/i

/**
 * The fields that are not allowed in trailers (RFC 9110, 6.5.1): framing, routing, authentication
 * and fields that are read before the content.
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
 * Returns the protocol of an upgrade that can be forwarded, or null. HTTP/2 cannot, because it
 * would be a second way to name the host.
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
 * Returns the headers for a program. The service writes the framing, and removes hop-by-hop fields
 * and credentials of the port.
 */
export function requestHeaders(
  request: IncomingMessage,
  {
    target,
    scheme,
    upgrade,
    masks,
  }: { target: PortTarget; scheme: string; upgrade: string | null; masks: PortMasks | undefined },
): RawHeaders {
  const dropped = new Set<string>([...hopByHop, ...ours, ...connectionOptions(request)])
  const passed = headerPairs(request.rawHeaders).filter(([name, value]) => {
    const lower = name.toLowerCase()
    if (
      dropped.has(lower) ||
      lower.startsWith('x-forwarded-') ||
      isFleetHeader(lower) ||
      masks?.hides(lower, value) === true
    )
      return false
    return lower !== 'authorization' || !isApiKey(value)
  })
  const sent = request.headers.host ?? `localhost:${target.port}`
  const host = masks?.host ?? sent
  const cookies = foreignCookies(request)
  const trailers = upgrade === null && wantsTrailers(request)
  return [
    ...['Host', host],
    ...passed.flat(),
    ...(cookies === null ? [] : ['Cookie', cookies]),
    ...['X-Forwarded-For', clientAddress(request) ?? 'unknown'],
    ...['X-Forwarded-Host', sent, 'X-Forwarded-Proto', scheme],
    ...(target.prefix === '' ? [] : ['X-Forwarded-Prefix', target.prefix]),
    ...(trailers ? ['TE', 'trailers'] : []),
    ...(upgrade === null
      ? ['Connection', trailers ? 'close, TE' : 'close', ...framing(request)]
      : ['Connection', 'Upgrade', 'Upgrade', upgrade]),
  ]
}

/**
 * Returns the headers for a client, without hop-by-hop fields. In the path form, headers that
 * affect other paths are removed, and pages get an opaque origin. The owner of the runtime and the
 * host that the client has asked both do this. The second time changes nothing.
 */
export function responseHeaders(answer: IncomingMessage, target: PortTarget): RawHeaders {
  const dropped = new Set<string>([...hopByHop, ...connectionOptions(answer)])
  if (target.form !== 'host') for (const name of policiesOfOrigin) dropped.add(name)
  const passed = headerPairs(answer.rawHeaders).flatMap(([name, value]) => {
    const lower = name.toLowerCase()
    if (dropped.has(lower) || !isSound(name, value)) return []
    if (lower === 'set-cookie') {
      const cookie = confinedCookie(value, target)
      return cookie === null ? [] : [name, cookie]
    }
    return [name, lower === 'location' ? confinedLocation(value, target) : value]
  })
  if (target.form === 'host') return passed
  const isSandboxed = headerPairs(passed).some(([name, value]) => policyName.test(name) && value === sandboxPolicy)
  return isSandboxed ? passed : [...passed, 'Content-Security-Policy', sandboxPolicy]
}

/** Returns the trailers that can be forwarded. */
export function passedTrailers(rawTrailers: RawHeaders): [string, string][] {
  return headerPairs(rawTrailers).filter(
    ([name, value]) => !neverTrailers.has(name.toLowerCase()) && isSound(name, value),
  )
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
export function wantsTrailers({ headers }: IncomingMessage): boolean {
  return String(headers.te ?? '')
    .toLowerCase()
    .split(',')
    .some((coding) => coding.trim() === 'trailers')
}

function framing({ headers }: IncomingMessage): readonly string[] {
  if (headers['transfer-encoding'] !== undefined) return ['Transfer-Encoding', 'chunked']
  return headers['content-length'] === undefined ? [] : ['Content-Length', headers['content-length']]
}

/**
 * Confines a cookie to the port's host, and in the path form to its path. A program cannot set the
 * service's own cookies.
 */
function confinedCookie(cookie: string, { prefix }: PortTarget): string | null {
  const [pair = '', ...attributes] = cookie.split(';').map((part) => part.trim())
  if (isOwnCookie(pair.split('=', 1)[0]?.trim() ?? '')) return null
  const nameOf = (attribute: string) => attribute.split('=', 1)[0]?.trim().toLowerCase()
  const kept = attributes.filter((attribute) => nameOf(attribute) !== 'domain')
  if (prefix === '') return [pair, ...kept].join('; ')
  const path =
    kept
      .findLast((attribute) => nameOf(attribute) === 'path')
      ?.split('=', 2)[1]
      ?.trim() ?? '/'
  const others = kept.filter((attribute) => nameOf(attribute) !== 'path')
  return [pair, ...others, `Path=${below(path.startsWith('/') ? path : '/', prefix)}`].join('; ')
}

/** Moves a redirect to an absolute path of the program below the port's path, in the path form. */
function confinedLocation(location: string, { prefix }: PortTarget): string {
  return prefix !== '' && /^\/(?![/\\])/.test(location) ? below(location, prefix) : location
}

/** Returns a path below a prefix. A program that knows its prefix has written it itself. */
function below(path: string, prefix: string): string {
  return path === prefix || path.startsWith(`${prefix}/`) ? path : prefix + path
}

function isSound(name: string, value: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}
