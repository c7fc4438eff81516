import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import type { Inside } from '../inside.ts'
import type { Visit } from './enter-port.ts'
import { portCookie } from './port-credentials.ts'

/** A visit before it takes a slot. */
export type AdmittedVisit = Pick<Visit, 'target' | 'credentials' | 'scheme' | 'admission'>

/** Returns the scheme that the client used. Without TLS here, a proxy may have ended it. */
export function schemeOf({ config }: Inside, { target, scheme }: AdmittedVisit, { socket }: IncomingMessage): string {
  if (socket instanceof TLSSocket) return 'https'
  if (scheme !== null) return scheme
  return target.form === 'host' ? (config.portDomain.front?.scheme ?? 'http') : 'http'
}

/**
 * Returns the first redirection of a browser, if any. It leads away from the address with the
 * token, which becomes a cookie, and to a path below which relative links of the program work. A
 * client that does not ask for a page, such as curl, is served at once.
 */
export function redirection(
  service: Inside,
  visit: AdmittedVisit,
  { request, scheme }: { request: IncomingMessage; scheme: string },
): { status: number; headers: Record<string, string> } | null {
  const { target, credentials, admission } = visit
  const isPage = /\btext\/html\b/i.test(request.headers.accept ?? '')
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const location = target.prefix + credentials.path
  // A path that begins with two slashes would be another host.
  if (!isRead || /^\/[/\\]/.test(location)) return null
  const standing = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
  if (isPage && credentials.fromQuery && admission.token !== undefined) {
    const secure = scheme === 'https' ? '; Secure' : ''
    const age = Math.max(1, Math.floor(((admission.expiresAt ?? 0) - service.now()) / 1000))
    const cookie = `${portCookie}=${admission.token}; Path=${target.prefix || '/'}; Max-Age=${age}; HttpOnly; SameSite=Lax${secure}`
    return { status: 303, headers: { ...standing, 'set-cookie': cookie } }
  }
  if (!target.bare || target.form !== 'path') return null
  return { status: 307, headers: { ...standing, location: target.prefix + target.path } }
}
