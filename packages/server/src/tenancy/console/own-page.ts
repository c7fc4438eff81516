import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'

/**
 * The header that the console sends with each request: its page token, after the id of the key
 * whose session it uses and a dot. Requests that concern no single session omit the id. Pages of
 * other origins cannot send it: it needs a preflight, which this service refuses.
 */
export const consoleHeader = 'x-holt-console'

/** The value of the console's header. */
export interface PageClaim {
  /** The key whose session is used. Null: the request names none. */
  readonly keyId: string | null
  /**
   * 256 random bits that the console keeps in the storage of its origin. A cookie is sent to every
   * port of a host, and so to a program behind `holt port RUNTIME PORT --forward`. Storage is not.
   */
  readonly page: string
}

/** Reads the value of the console's header. Null if it has another form. */
export function pageClaimOf(value: unknown): PageClaim | null {
  const [, keyId = null, page] = /^(?:(\w{1,64})\.)?([A-Za-z0-9_-]{43})$/.exec(String(value)) ?? []
  return page === undefined ? null : { keyId, page }
}

/** The parts of a request that tell which page sent it. */
export type PageRequest = Pick<IncomingMessage, 'method' | 'headers' | 'socket'>

/**
 * Returns true if a request may come from a page of this service's own origin. Cookies ignore
 * ports, and `SameSite` ignores subdomains, so neither of them tells. `Sec-Fetch-Site` and `Origin`
 * do, and pages cannot set them. Browsers omit `Origin` only with GET and HEAD, and never with
 * WebSockets.
 */
export function isOwnPage({ method, headers, socket }: PageRequest): boolean {
  const { origin, host = '', upgrade } = headers
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  if (origin === undefined) return upgrade === undefined && (method === 'GET' || method === 'HEAD')
  if (!URL.canParse(origin)) return false
  const { protocol } = new URL(origin)
  if (protocol !== 'https:' && (protocol !== 'http:' || socket instanceof TLSSocket)) return false
  const own = `${protocol}//${host}`
  return URL.canParse(own) && new URL(own).origin === new URL(origin).origin
}

/** Returns true if the page that sent a request was loaded with TLS, here or before a proxy. */
export function isSecurePage({ headers, socket }: PageRequest): boolean {
  return socket instanceof TLSSocket || headers.origin?.startsWith('https:') === true
}
