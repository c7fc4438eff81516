import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { attachFrameBytes, attachProtocol, HoltError, routes } from '@holt/protocol'
import { WebSocketServer } from 'ws'
import { admitCaller } from '../auth/admit-caller.ts'
import { type Caller, requireScope } from '../auth/authenticate.ts'
import type { Watched } from '../auth/open-streams.ts'
import { invalidRequest } from '../http/field-issues.ts'
import { parseQuery } from '../http/parse-query.ts'
import type { UpgradeDoor } from '../http/upgrades.ts'
import type { Service } from '../service.ts'
import { Attachment } from './attachment.ts'
import { findAttachable } from './find-attachable.ts'
import { authorizationOf, requireHandshake } from './handshake.ts'
import { roomsOf } from './rooms.ts'

const route = routes.attachCommand

/** The route's path, its parameters as they stand in the target. */
const pattern = new RegExp(`^${route.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/?]+)')}(?:\\?|$)`)

/** The way to a command's terminal: checks everything that the route would, and then speaks WebSocket. */
export function attachDoor(service: Service): UpgradeDoor {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: attachFrameBytes,
    handleProtocols: (offered) => (offered.has(attachProtocol) ? attachProtocol : false),
  })
  return {
    claims: ({ method, headers, url }) =>
      method === route.method && headers.upgrade?.toLowerCase() === 'websocket' && pattern.test(url ?? ''),
    open: (request, socket, head) => open(service, { server, request, socket, head }),
  }
}

interface Opening {
  readonly server: WebSocketServer
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
}

async function open(service: Service, { server, request, socket, head }: Opening): Promise<void> {
  const caller = await admitCaller(service, {
    authorization: authorizationOf(request.headers),
    peer: request.socket.remoteAddress,
  })
  requireScope(caller, route.scope)
  requireHandshake(request.headers)
  const { params, query } = parseTarget(request.url ?? '')
  const found = await findAttachable(service, { caller, params, query })
  const room = roomsOf(service).open(caller.projectId, params)
  const ref = { projectId: caller.projectId, runtimeId: params.runtime_id }
  writeDown(service, request.socket, { caller, params })
  // Where nothing but the handshake is left to do, the library does it before it returns, or destroys a connection that is gone.
  server.handleUpgrade(request, socket, head, (ws) => {
    const attachment = new Attachment({ ws, service, ref, ...found, room, query, caller })
    service.streams.add(caller, outletOf(request.socket), () => attachment.cut(service.closing.aborted))
  })
}

/** An attachment passes no route: its entry of the audit log is written here, and ends with it. */
function writeDown(
  { audit }: Service,
  socket: Socket,
  { caller, params }: { caller: Caller; params: { runtime_id: string; command_id: string } },
): void {
  const { projectId, keyId, keyName } = caller
  const entry = audit.begin({
    projectId,
    kind: 'inside',
    key: { keyId, name: keyName },
    address: socket.remoteAddress ?? 'unknown',
    route: 'attachCommand',
    params,
    requestId: null,
  })
  socket.once('close', () => audit.end(entry, 101))
}

function outletOf(socket: Socket): Watched {
  return {
    socket,
    once: (...listener) => socket.once(...listener),
    get writableNeedDrain() {
      return socket.writableNeedDrain
    },
  }
}

/** The parameters and the query of a request's target, as the route has them. */
function parseTarget(target: string) {
  const raw = pattern.exec(target)?.groups ?? {}
  const params = route.params.safeParse(
    Object.fromEntries(Object.entries(raw).map(([name, text]) => [name, decoded(text)])),
  )
  const query = route.query.safeParse(parseQuery(target), { reportInput: true })
  if (params.success && query.success) return { params: params.data, query: query.data }
  throw invalidRequest([
    ...(params.success ? [] : [{ error: params.error, prefix: '/path' as const }]),
    ...(query.success ? [] : [{ error: query.error, prefix: '/query' as const }]),
  ])
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new HoltError('invalid_request', 'The path is not percent-encoded UTF-8.')
  }
}
