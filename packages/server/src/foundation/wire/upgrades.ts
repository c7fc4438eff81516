import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { makeId } from '@holt/protocol'
import type { Log } from '../log.ts'
import { runFor } from '../request/request-context.ts'
import { vouchOf } from '../request/vouch.ts'
import { answerOnSocket, toHoltError } from './send-error.ts'

/** A request that asks for another protocol. */
export interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  /** The bytes that followed the request's headers. */
  readonly head: Buffer
  readonly requestId: string
  /** Adds headers to the answer if that is an error. */
  readonly tell: (headers: Readonly<Record<string, string>>) => void
}

/**
 * A handler that takes connections over from HTTP (RFC 9110, 7.8). Upgrades pass no route, so a
 * handler itself authenticates, authorises and limits its clients.
 */
export interface UpgradeHandler {
  /**
   * Returns true if the request is for this handler. A request that no handler claims is answered
   * as an ordinary one.
   */
  claims(request: IncomingMessage): boolean
  /**
   * Takes the connection over. It may reject until it has written to the socket. The client then
   * gets an error of the contract, and the connection is closed.
   */
  open(upgrade: Upgrade): Promise<void>
}

/**
 * Returns a function that decides if a request is an upgrade. Node calls it for each request that
 * names a protocol to change to.
 */
export function claimsUpgrade(handlers: readonly UpgradeHandler[]): (request: IncomingMessage) => boolean {
  return (request) => handlers.some((handler) => handler.claims(request))
}

/** Sends each upgrade to the first handler that claims it. */
export function openUpgrades(
  server: Server,
  { handlers, log }: { handlers: readonly UpgradeHandler[]; log: Log },
): void {
  server.on('upgrade', (request, socket, head) => {
    const handler = handlers.find((each) => each.claims(request))
    socket.on('error', () => socket.destroy())
    if (handler === undefined) {
      socket.destroy()
      return
    }
    const requestId = vouchOf(socket)?.requestId ?? makeId('request')
    const headers: Record<string, string> = {}
    const tell: Upgrade['tell'] = (told) => void Object.assign(headers, told)
    const upgrade = { request, socket, head, requestId, tell }
    const opened = runFor({ requestId, caller: null, span: null }, () => handler.open(upgrade))
    opened.catch((error: unknown) => {
      answerOnSocket(socket, { error: toHoltError(error, log, requestId), requestId, headers })
    })
  })
}
