import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { HoltError, makeId } from '@holt/protocol'
import { runFor } from '../../foundation/request/request-context.ts'
import { vouchOf } from '../../foundation/request/vouch.ts'
import { breakOff } from '../../foundation/wire/break-off.ts'
import { clientLeft } from '../../foundation/wire/client-gone.ts'
import { closeAfterLongBody } from '../../foundation/wire/drop-rest-of-body.ts'
import type { Forwarder } from '../../foundation/wire/forwarder.ts'
import { errorBody, errorHeaders, toHoltError } from '../../foundation/wire/send-error.ts'
import type { Upgrade, UpgradeHandler } from '../../foundation/wire/upgrades.ts'
import type { Inside } from '../inside.ts'
import { enterPort, ownWay, type PortWay } from './enter-port.ts'
import { upgradeOf } from './forward-headers.ts'
import { forwardRequest } from './forward-request.ts'
import { forwardTcp, forwardUpgrade } from './forward-upgrade.ts'
import { forwardVisit, forwardVisitUpgrade } from './forward-visit.ts'
import { redirection, schemeOf } from './port-redirection.ts'
import { ambiguous, destinationOf } from './port-target.ts'

/** Handles requests for ports before the API's routes. Returns true if it answers the request. */
export type PortRequests = (request: IncomingMessage, response: ServerResponse) => boolean

/**
 * Returns the handlers of requests for ports. `forwarder` sends those for runtimes of other hosts
 * to their owners; null: there are no other hosts.
 */
export function portRequests(service: Inside, forwarder: Forwarder | null): PortRequests {
  return (request, response) => {
    const destination = destinationOf(request, service.config.portDomain)
    if (destination === 'api') return false
    const vouch = vouchOf(request.socket)
    const requestId = vouch?.requestId ?? makeId('request')
    response.once('close', () => {
      const status = response.headersSent ? response.statusCode : clientLeft
      service.metrics.http.notePort(request.method ?? 'GET', status)
    })
    const answered = runFor({ requestId, caller: null, span: null }, async () => {
      if (destination === 'refused') throw ambiguous()
      const way = ownWay(service, request)
      const isForwarded =
        forwarder !== null &&
        vouch === null &&
        (await forwardVisit(service, forwarder, { way, request, response, requestId }))
      if (!isForwarded) await visitPort(service, { way, request, response })
    })
    answered.catch((error: unknown) => sendFailure(service, { request, response, error, requestId }))
    return true
  }
}

/** Returns the handler of upgrades for ports. `forwarder` is as that of `portRequests`. */
export function portUpgrades(service: Inside, forwarder: Forwarder | null): UpgradeHandler {
  return {
    claims: (request) => upgradeOf(request) !== null && destinationOf(request, service.config.portDomain) === 'port',
    open: async (upgrade) => {
      const note = (status: number) => service.metrics.http.notePort(upgrade.request.method ?? 'GET', status)
      try {
        const way = ownWay(service, upgrade.request)
        const isClient = vouchOf(upgrade.socket) === null
        const status =
          forwarder !== null && isClient ? await forwardVisitUpgrade(service, forwarder, { ...upgrade, way }) : null
        note(status ?? (await visitByUpgrade(service, { ...upgrade, way })))
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
