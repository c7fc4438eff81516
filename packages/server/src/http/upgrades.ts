import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { makeId } from '@holt/protocol'
import type { Log } from '../service.ts'
import { runFor } from '../telemetry/request-context.ts'
import { answerOnSocket, toHoltError } from './send-error.ts'

/** A request that asks for another protocol. */
export interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  /** What came after the request's headers. */
  readonly head: Buffer
  readonly requestId: string
  /** Takes headers that an answer with an error has besides its own. */
  readonly tell: (headers: Readonly<Record<string, string>>) => void
}

/**
 * Something that takes connections over from HTTP (RFC 9110, 7.8). Upgrades pass no route, so a
 * door authenticates, authorises and bounds what it lets in by itself.
 */
export interface UpgradeDoor {
  /**
   * Whether the request is for this door. What no door claims is answered as an ordinary request.
   */
  claims(request: IncomingMessage): boolean
  /**
   * Takes the connection over. Until it has written to the socket it may reject: that is answered
   * as an error of the contract, and the connection is closed.
   */
  open(upgrade: Upgrade): Promise<void>
}

/**
 * Whether an upgrade is one: Node asks this for each request that names a protocol to change to.
 */
export function claimsUpgrade(doors: readonly UpgradeDoor[]): (request: IncomingMessage) => boolean {
  return (request) => doors.some((door) => door.claims(request))
}

/** Sends each upgrade to the first door that claims it. */
export function openUpgrades(server: Server, { doors, log }: { doors: readonly UpgradeDoor[]; log: Log }): void {
  server.on('upgrade', (request, socket, head) => {
    const door = doors.find((each) => each.claims(request))
    socket.on('error', () => socket.destroy())
    if (door === undefined) {
      socket.destroy()
      return
    }
    const requestId = makeId('request')
    const headers: Record<string, string> = {}
    const tell: Upgrade['tell'] = (told) => void Object.assign(headers, told)
    const upgrade = { request, socket, head, requestId, tell }
    const opened = runFor({ requestId, caller: null, span: null }, () => door.open(upgrade))
    opened.catch((error: unknown) => {
      answerOnSocket(socket, { error: toHoltError(error, log, requestId), requestId, headers })
    })
  })
}
