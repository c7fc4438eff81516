import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { HoltError, makeId } from '@holt/protocol'
import { runFor } from '../../foundation/request/request-context.ts'
import { breakOff } from '../../foundation/wire/break-off.ts'
import { clientLeft } from '../../foundation/wire/client-gone.ts'
import { closeAfterLongBody } from '../../foundation/wire/drop-rest-of-body.ts'
import { errorBody, errorHeaders, toHoltError } from '../../foundation/wire/send-error.ts'
import type { Upgrade, UpgradeHandler } from '../../foundation/wire/upgrades.ts'
import type { Inside } from '../inside.ts'
import { enterPort, ownWay, type PortWay, type Visit } from './enter-port.ts'
import { upgradeOf } from './forward-headers.ts'
import { forwardRequest } from './forward-request.ts'
import { forwardTcp, forwardUpgrade } from './forward-upgrade.ts'
import { portCookie } from './port-credentials.ts'
import { ambiguous, destinationOf } from './port-target.ts'

/** Handles requests for ports before the API's routes. Returns true if it answers the request. */
export type PortRequests = (request: IncomingMessage, response: ServerResponse) => boolean

/** Returns the handlers of requests for ports. */
export function portRequests(service: Inside): PortRequests {
  return (request, response) => {
    const destination = destinationOf(request, service.config.portDomain)
    if (destination === 'api') return false
    const requestId = makeId('request')
    response.once('close', () => {
      const status = response.headersSent ? response.statusCode : clientLeft
      service.metrics.http.notePort(request.method ?? 'GET', status)
    })
    const answered = runFor({ requestId, caller: null, span: null }, async () => {
      if (destination === 'refused') throw ambiguous()
      await visitPort(service, { way: ownWay(service, request), request, response })
    })
    answered.catch((error: unknown) => sendFailure(service, { request, response, error, requestId }))
    return true
  }
}

/** Returns the handler of upgrades for ports. */
export function portUpgrades(service: Inside): UpgradeHandler {
  return {
    claims: (request) => upgradeOf(request) !== null && destinationOf(request, service.config.portDomain) === 'port',
    open: async (upgrade) => {
      const note = (status: number) => service.metrics.http.notePort(upgrade.request.method ?? 'GET', status)
      try {
        note(await visitByUpgrade(service, { ...upgrade, way: ownWay(service, upgrade.request) }))
      } catch (error) {
        note(error instanceof HoltError ? error.status : 500)
        throw error
      }
    },
  }
}

/** Forwards a request by its way, and streams the answer back. */
export async function visitPort(
  service: Inside,
  { way, request, response }: { way: PortWay; request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const cut = () => response.destroy()
  const visit = await enterPort(service, { way, client: response, cut })
  const scheme = schemeOf(service, visit, request)
  try {
    const better = redirection(service, visit, { request, scheme })
    if (better === null) await forwardRequest(visit, { request, response, scheme })
    else response.writeHead(better.status, better.headers).end()
  } finally {
    visit.leave()
  }
}

/** Forwards an upgrade by its way. Returns the status of the answer. */
export async function visitByUpgrade(
  service: Inside,
  { way, request, socket, head }: Pick<Upgrade, 'request' | 'socket' | 'head'> & { way: PortWay },
): Promise<number> {
  const client = socket as Socket
  client.setTimeout(0)
  const visit = await enterPort(service, { way, client, cut: () => breakOff(client) })
  client.once('close', visit.leave)
  const upgraded = { request, socket, head }
  try {
    if (visit.target.form === 'tcp') return await forwardTcp(visit, upgraded)
    const upgrade = upgradeOf(request) ?? 'websocket'
    return await forwardUpgrade(visit, { ...upgraded, scheme: schemeOf(service, visit, request), upgrade })
  } catch (error) {
    visit.leave()
    throw error
  }
}

/** Returns the scheme that the client used. Without TLS here, a proxy may have ended it. */
function schemeOf({ config }: Inside, { target, scheme }: Visit, { socket }: IncomingMessage): string {
  if (socket instanceof TLSSocket) return 'https'
  if (scheme !== null) return scheme
  return target.form === 'host' ? (config.portDomain.front?.scheme ?? 'http') : 'http'
}

/**
 * Returns the first redirection of a browser, if any. It leads away from the address with the
 * token, which becomes a cookie, and to a path below which relative links of the program work. A
 * client that does not ask for a page, such as curl, is served at once.
 */
function redirection(
  service: Inside,
  visit: Visit,
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

function sendFailure(
  service: Inside,
  {
    request,
    response,
    error,
    requestId,
  }: {
    request: IncomingMessage
    response: ServerResponse
    error: unknown
    requestId: string
  },
): void {
  if (response.headersSent || response.destroyed) {
    service.log.debug({ err: error, request_id: requestId }, 'an answer of a port was interrupted')
    response.destroy()
    return
  }
  const failure = toHoltError(error, service.log, requestId)
  closeAfterLongBody(request, response)
  response.writeHead(failure.status, errorHeaders(failure, requestId))
  response.end(request.method === 'HEAD' ? undefined : JSON.stringify(errorBody(failure, requestId)))
}
