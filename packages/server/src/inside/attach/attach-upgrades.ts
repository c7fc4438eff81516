import type { Socket } from 'node:net'
import { attachFrameBytes, attachProtocol, HoltError, routes } from '@holt/protocol'
import { WebSocketServer } from 'ws'
import type { Caller } from '../../foundation/request/caller.ts'
import { clientAddress } from '../../foundation/request/client-address.ts'
import { vouchOf } from '../../foundation/request/vouch.ts'
import { ClientGone } from '../../foundation/wire/client-gone.ts'
import { invalidRequest } from '../../foundation/wire/field-issues.ts'
import type { Forwarder } from '../../foundation/wire/forwarder.ts'
import { requestParsing } from '../../foundation/wire/issue-words.ts'
import { parseQuery } from '../../foundation/wire/parse-query.ts'
import { toHoltError } from '../../foundation/wire/send-error.ts'
import type { Upgrade, UpgradeHandler } from '../../foundation/wire/upgrades.ts'
import { auditedParams } from '../../tenancy/audit/audit-request.ts'
import { admitCaller } from '../../tenancy/auth/admit-caller.ts'
import { requireScope } from '../../tenancy/auth/authenticate.ts'
import type { Watched } from '../../tenancy/auth/open-streams.ts'
import { requireStillValid, vouchedCaller } from '../../tenancy/auth/vouched-caller.ts'
import type { Inside } from '../inside.ts'
import { AttachPace } from './attach-pace.ts'
import { Attachment } from './attachment.ts'
import { findAttachable } from './find-attachable.ts'
import { forwardAttachment } from './forward-attachment.ts'
import { handshakeProof, requireHandshake } from './handshake.ts'

const route = routes.attachCommand

/** The route's path, with its parameters as named groups. */
const pattern = new RegExp(`^${route.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/?]+)')}(?:\\?|$)`)

/**
 * The maximum number of fragments of one message. The library parses all received fragments at
 * once, and an empty one has six bytes.
 */
const maxFragments = 256

/**
 * Returns the handler of attachments to a command's terminal. It makes all checks of the route, and
 * then speaks WebSocket. `forwarder` sends those to runtimes of other hosts to their owners; null:
 * there are no other hosts.
 */
export function attachUpgrades(service: Inside, forwarder: Forwarder | null): UpgradeHandler {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: attachFrameBytes,
    maxFragments,
    // Handles one frame of a connection per turn, because a part of the stream may hold a thousand.
    allowSynchronousEvents: false,
    handleProtocols: (offered) => (offered.has(attachProtocol) ? attachProtocol : false),
  })
  const pace = new AttachPace()
  return {
    claims: ({ method, headers, url }) =>
      method === route.method && headers.upgrade?.toLowerCase() === 'websocket' && pattern.test(url ?? ''),
    open: (upgrade) => open(service, { server, pace, forwarder }, upgrade),
  }
}

/** The parts that all attachments share. */
interface Shared {
  readonly server: WebSocketServer
  readonly pace: AttachPace
  readonly forwarder: Forwarder | null
}

async function open(service: Inside, shared: Shared, upgrade: Upgrade): Promise<void> {
  const { request, requestId, tell } = upgrade
  const vouch = vouchOf(request.socket)
  const claim = { authorization: handshakeProof(service, request), peer: clientAddress(request) }
  const caller = vouch === null ? await admitCaller(service, claim, tell) : vouchedCaller(vouch)
  const forwarder = vouch === null ? shared.forwarder : null
  const entry = writeDown(service, upgrade, { caller, held: forwarder !== null })
  try {
    const asked = { ...upgrade, caller }
    // The owner writes the entry of a forwarded attachment.
    if (forwarder !== null && (await forwardAttachment(service, forwarder, asked))) entry.drop()
    else {
      entry.release()
      await attach(service, shared, asked)
      entry.answered(101)
    }
  } catch (error) {
    const failure = toHoltError(error, service.log, requestId)
    entry.answered(failure.status)
    throw failure
  }
}

async function attach(
  service: Inside,
  { server, pace }: Shared,
  { request, socket, head, caller }: Upgrade & { readonly caller: Caller },
): Promise<void> {
  requireScope(caller, route.scope)
  requireHandshake(request.headers)
  const { params, query } = parseTarget(request.url ?? '')
  const left = new AbortController()
  const leave = () => left.abort(new ClientGone('the client disconnected'))
  socket.once('close', leave)
  await pace.wait(caller.projectId, left.signal)
  // The key may have ended meanwhile.
  const proof = () => handshakeProof(service, request)
  await requireStillValid(service, { vouch: vouchOf(request.socket), proof })
  const found = await findAttachable(service, { caller, params, query, gone: left.signal })
  socket.off('close', leave)
  const room = service.rooms.open(caller.projectId, params)
  const ref = { projectId: caller.projectId, runtimeId: params.runtime_id }
  // The handshake is the only step left. The library completes it before it returns, or destroys a
  // connection that has ended.
  server.handleUpgrade(request, socket, head, (ws) => {
    const attachment = new Attachment({ ws, service, ref, ...found, room, query, caller })
    service.streams.add(caller, outletOf(request.socket), () => attachment.cut(service.closing.aborted))
  })
}

/**
 * Begins the audit entry of an attachment, which passes no route. The entry begins before any
 * refusal and ends with the connection. Returns functions that take the status of the answer, and
 * that write or drop an entry that is held. The entry of a client that disconnects earlier has no
 * status.
 */
function writeDown(
  { audit }: Inside,
  { request, requestId }: Upgrade,
  { caller, held }: { readonly caller: Caller; readonly held: boolean },
) {
  const { projectId, keyId, keyName } = caller
  const call = {
    projectId,
    kind: 'inside',
    key: { keyId, name: keyName },
    address: clientAddress(request) ?? 'unknown',
    route: 'attachCommand',
    params: auditedParams(namedIn(request.url ?? '')),
    requestId,
  } as const
  const entry = audit.begin(call, { held })
  let status: number | null = null
  request.socket.once('close', () => audit.end(entry, status))
  return {
    answered: (answered: number) => {
      status = answered
    },
    release: () => {
      if (held) audit.release(entry)
    },
    drop: () => audit.drop(entry),
  }
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

/** Parses the parameters and the query of a request's target with the route's schemas. */
function parseTarget(target: string) {
  const params = route.params.safeParse(namedIn(target))
  const query = route.query.safeParse(parseQuery(target), requestParsing)
  if (params.success && query.success) return { params: params.data, query: query.data }
  throw invalidRequest([
    ...(params.success ? [] : [{ error: params.error, prefix: '/path' as const }]),
    ...(query.success ? [] : [{ error: query.error, prefix: '/query' as const }]),
  ])
}

/** Returns the parameters in the path of a target. */
function namedIn(target: string): Readonly<Record<string, string>> {
  const raw = pattern.exec(target)?.groups ?? {}
  return Object.fromEntries(Object.entries(raw).map(([name, text]) => [name, decoded(text)]))
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new HoltError('invalid_request', 'The path is not percent-encoded UTF-8.')
  }
}
