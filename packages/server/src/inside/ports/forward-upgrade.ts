import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { mergePieces } from '@holt/async'
import { breakOff } from '../../foundation/wire/break-off.ts'
import type { RawHeaders } from '../../foundation/wire/end-to-end-headers.ts'
import type { Upgrade } from '../../foundation/wire/upgrades.ts'
import type { Visit } from './enter-port.ts'
import { requestHeaders, responseHeaders } from './forward-headers.ts'
import { answerOf, sendBack, sendOn } from './forward-request.ts'

/** A client's connection after an upgrade from HTTP. */
export type Upgraded = Pick<Upgrade, 'request' | 'socket' | 'head'>

/** The status of an accepted upgrade. */
const switched = 101

/** Connects a client to a port with raw TCP. Returns the status of the answer. */
export async function forwardTcp(visit: Visit, { socket, head }: Upgraded): Promise<number> {
  const connection = await visit.connect()
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
  if (head.length > 0) connection.write(head)
  join(socket, connection)
  return switched
}

/**
 * Forwards an upgrade to the program. If the program accepts, forwards bytes in both directions.
 * Any other answer is forwarded unchanged. Returns the status of the answer.
 */
export async function forwardUpgrade(
  visit: Visit,
  { request, socket, head, scheme, upgrade }: Upgraded & { scheme: string; upgrade: string },
): Promise<number> {
  const connection = await visit.connect()
  const headers = requestHeaders(request, { target: visit.target, scheme, upgrade, masks: visit.admission.masks })
  const outgoing = sendOn(connection, { request, path: visit.credentials.path, headers })
  const giveUp = () => connection.destroy()
  socket.once('close', giveUp)
  if (socket.destroyed) giveUp()
  const agreed = new Promise<{ answer: IncomingMessage; first: Buffer }>((resolve) =>
    outgoing.once('upgrade', (answer, _, first) => resolve({ answer, first })),
  )
  outgoing.end()
  const outcome = await Promise.race([agreed, answerOf(outgoing)])
  if (!('first' in outcome)) {
    await answerPlainly(outcome, { visit, request, socket })
    connection.destroy()
    return outcome.statusCode ?? switched
  }
  socket.off('close', giveUp)
  socket.write(switchingHead(outcome.answer, responseHeaders(outcome.answer, visit.target), upgrade), 'latin1')
  if (outcome.first.length > 0) socket.write(outcome.first)
  if (head.length > 0) connection.write(head)
  join(socket, connection)
  return switched
}

async function answerPlainly(
  answer: IncomingMessage,
  { visit, request, socket }: { visit: Visit; request: IncomingMessage; socket: Duplex },
): Promise<void> {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket as Socket)
  response.once('finish', () => socket.end())
  await sendBack(answer, { visit, request, response })
}

/** Returns the head of an answer that accepts an upgrade. `asked` is the requested protocol. */
export function switchingHead(answer: IncomingMessage, headers: RawHeaders, asked: string): string {
  const { upgrade = asked } = answer.headers
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${upgrade}`]
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/**
 * Forwards bytes in both directions. Either side may end first. If one breaks, the other is reset.
 */
export function join(socket: Duplex, connection: Duplex): void {
  mergePieces(socket).pipe(connection)
  mergePieces(connection).pipe(socket)
  socket.once('close', () => {
    if (!socket.readableEnded || !socket.writableFinished) connection.destroy()
  })
  const reset = () => {
    if (connection.readableEnded && connection.writableFinished) return
    breakOff(socket)
  }
  connection.once('close', reset)
  // Either may have broken a moment ago.
  if (connection.destroyed) reset()
  if (socket.destroyed) connection.destroy()
}
