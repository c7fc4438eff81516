import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { mergePieces } from '@holt/async'
import { HoltError, makeId, type Route, routes } from '@holt/protocol'
import fastify, { type FastifyInstance } from 'fastify'
import type { ConnectionLimits } from '../../foundation/config/connection-limits.ts'
import { fencedError } from '../../foundation/host/require-own.ts'
import { noteProxies, TrustedProxies } from '../../foundation/request/client-address.ts'
import { vouchOf } from '../../foundation/request/vouch.ts'
import { closeAfterLongBody, dropRestOfBody } from '../../foundation/wire/drop-rest-of-body.ts'
import type { FleetWire, Forwarder } from '../../foundation/wire/forwarder.ts'
import { requireOneFraming } from '../../foundation/wire/one-framing.ts'
import { answerOnSocket, sendError, standingHeaders } from '../../foundation/wire/send-error.ts'
import { claimsUpgrade, openUpgrades, type UpgradeHandler } from '../../foundation/wire/upgrades.ts'
import { attachUpgrades } from '../../inside/attach/attach-upgrades.ts'
import { http2Start, type ParseFailure } from '../../inside/ports/http2-answer.ts'
import { placeOf } from '../../inside/ports/request-place.ts'
import { serveHttp2 } from '../../inside/ports/serve-http2.ts'
import { type PortRequests, portRequests, portUpgrades } from '../../inside/ports/serve-ports.ts'
import { namedSession } from '../../tenancy/auth/proof-of.ts'
import type { Api, Handlers } from '../api.ts'
import { serveSite, siteRoute } from '../docs/serve-site.ts'
import { givenRequestId, mcpPath, observeRequests } from '../telemetry/observe-requests.ts'
import { alwaysOpen, closedToClients, refusedWhileClosed } from './closed-to-clients.ts'
import { Connections, hadLastAnswer } from './connections.ts'
import { answersHead, registerRoutes } from './register-routes.ts'
import { RequestAccounts } from './request-accounts.ts'

/** Serves a path that is not in the table of routes, with the accounts that all requests share. */
export type Mount = (app: FastifyInstance, service: Api, accounts: RequestAccounts) => void

/** Serves requests of another API on the same port, before the routes. */
interface Entry {
  /**
   * Returns true if it answers a request. `lend` leaves the connection to it until the answer has
   * ended.
   */
  answers(request: IncomingMessage, response: ServerResponse, lend: () => void): boolean
  readonly upgrades: UpgradeHandler
}

/**
 * Makes an entry, with the accounts that all requests share. `forwarder` sends requests to the
 * other hosts that own their subjects; null: there are none.
 */
export type MakeEntry = (service: Api, accounts: RequestAccounts, forwarder: Forwarder | null) => Entry

/** The parts of the application besides the table of routes. */
export interface AppParts {
  readonly mounts?: readonly Mount[]
  readonly entries?: readonly MakeEntry[]
  /** The other hosts of a fleet. Null: this host is alone. */
  readonly fleet?: FleetWire | null
}

/** The methods and the path of the Model Context Protocol. */
export const mcpRoute = {
  methods: ['GET', 'POST', 'DELETE'],
  url: mcpPath,
  pattern: /^\/mcp$/,
} as const

/**
 * Makes the HTTP application: other entries, every route of the table, `mounts`, and an error of
 * the contract for every other request.
 */
export function createApp(
  service: Api,
  handlers: Handlers,
  { mounts = [], entries: makers = [], fleet = null }: AppParts = {},
): FastifyInstance {
  const accounts = new RequestAccounts(service.limits)
  const forwarder = fleet?.forwarder ?? null
  const entries = makers.map((make) => make(service, accounts, forwarder))
  const ownUpgrades = [portUpgrades(service, forwarder), attachUpgrades(service, forwarder)]
  // The fence of a forwarded request was checked when it was accepted.
  const peerUpgrades: readonly UpgradeHandler[] = [...entries.map(({ upgrades }) => upgrades), ...ownUpgrades]
  const upgradeHandlers: readonly UpgradeHandler[] = [refusedWhileClosed(service), ...peerUpgrades]
  const answerForPort = portRequests(service, forwarder)
  const app = fastify({
    logger: false,
    genReqId: ({ headers, socket }) =>
      vouchOf(socket)?.requestId ?? givenRequestId(headers['x-request-id']) ?? makeId('request'),
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    return503OnClosing: false,
    serverFactory: (answerByRoute) => {
      fleet?.serveWith(
        makePeerServer(service, { entries, upgradeHandlers: peerUpgrades, answerByRoute, answerForPort }),
      )
      return makeHttpServer(service, { entries, upgradeHandlers, answerByRoute, answerForPort })
    },
    routerOptions: { querystringParser: () => ({}), maxParamLength: service.limits.maxHeaderBytes },
    clientErrorHandler: brokenRequests(service),
    frameworkErrors: (error, request, reply) => void sendError(request, reply, { error, log: service.log }),
  })
  app.server.on('connect', refuseTunnel)
  openUpgrades(app.server, { handlers: upgradeHandlers, log: service.log })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  observeRequests(app, service)
  app.addHook('onRequest', async (request, reply) => {
    // The watchers of the key, the audit and the stream listen for its end, as does the framework.
    // Each listens once.
    reply.raw.setMaxListeners(30)
    reply.headers(standingHeaders(request.id))
    requireOneFraming(request.raw, reply.raw)
    if (alwaysOpen.has(request.routeOptions.url ?? '')) return
    const closed = vouchOf(request.raw.socket) === null ? closedToClients(service) : null
    if (closed !== null) throw closed
    if (service.thisHost.fenced) throw fencedError()
  })
  app.addHook('onSend', async (request, reply) => closeAfterLongBody(request.raw, reply.raw))
  app.addHook('onRequestAbort', async (request) => void request.raw.destroy())
  app.setErrorHandler((error, request, reply) => sendError(request, reply, { error, log: service.log }))
  app.setNotFoundHandler((request, reply) => {
    const allowed = methodsOf(request.raw.url ?? '/')
    if (allowed.length > 0) reply.header('allow', allowed.join(', '))
    return sendError(request, reply, { error: noRoute(request.method, allowed), log: service.log })
  })
  registerRoutes(app, service, { handlers, accounts, forwarder })
  for (const mount of mounts) mount(app, service, accounts)
  serveSite(app)
  return app
}

interface ServerParts {
  readonly entries: readonly Entry[]
  readonly upgradeHandlers: readonly UpgradeHandler[]
  readonly answerByRoute: RequestListener
  readonly answerForPort: PortRequests
}

function makeHttpServer(service: Api, { entries, upgradeHandlers, answerByRoute, answerForPort }: ServerParts): Server {
  const { limits, metrics, likelyProjects } = service
  const server = makeServer(limits, { upgradeHandlers, maxHeaderBytes: limits.maxHeaderBytes })
  const proxies = new TrustedProxies(service.config.trustedProxies)
  server.on('connection', (socket) => noteProxies(socket, proxies))
  const connections = new Connections(server, limits, {
    onDrop: (why) => metrics.http.noteDrop(why),
    likelyProject: ({ headers }) => {
      const session = headers.authorization === undefined ? namedSession({ headers }) : null
      if (session !== null) return likelyProjects.ofSession(session)
      return likelyProjects.of(headers.authorization ?? `Bearer ${headers['x-api-key'] ?? ''}`)
    },
  })
  metrics.http.watchConnections(() => connections.counts)
  // Requests of other entries and for ports are not the API's. No route sees them.
  server.on('request', (request, response) => {
    mergePieces(request)
    dropRestOfBody(request, response)
    connections.answerInOrder(request, response, () => {
      const lend = () => connections.lend(request.socket)
      // A host that is closed to clients refuses every request in the same way.
      if (closedToClients(service) !== null) return answerByRoute(request, response)
      if (entries.some((entry) => entry.answers(request, response, lend))) return
      if (answerForPort(request, response)) lend()
      else answerByRoute(request, response)
    })
  })
  return server
}

/** Makes a server with the limits of this service, which answers nothing yet. */
function makeServer(
  limits: ConnectionLimits,
  { upgradeHandlers, maxHeaderBytes }: { upgradeHandlers: readonly UpgradeHandler[]; maxHeaderBytes: number },
): Server {
  const claims = claimsUpgrade(upgradeHandlers)
  const server = createServer({
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    headersTimeout: limits.headersTimeoutMs,
    maxHeaderSize: maxHeaderBytes,
    connectionsCheckingInterval: Math.min(5000, limits.headersTimeoutMs),
    // An ambiguous request is answered as an ordinary one, which refuses it.
    shouldUpgradeCallback: (request) => placeOf(request) !== null && claims(request),
  })
  // Node silently drops headers above a number of them. Their bytes are bounded instead.
  server.maxHeadersCount = 0
  return server
}

/** The bytes of headers that a host may add to those of a client. */
const addedHeaderBytes = 1024

/**
 * Returns a function that serves one forwarded request on a connection of another host. That host
 * has applied the limits of clients, so such connections do not count here.
 */
function makePeerServer(
  service: Api,
  { entries, upgradeHandlers, answerByRoute, answerForPort }: ServerParts,
): (connection: Duplex) => void {
  const { limits, log } = service
  const server = makeServer(limits, { upgradeHandlers, maxHeaderBytes: limits.maxHeaderBytes + addedHeaderBytes })
  // A second request would have the vouch of the first.
  server.maxRequestsPerSocket = 1
  server.on('request', (request, response) => {
    mergePieces(request)
    dropRestOfBody(request, response)
    response.setMaxListeners(32)
    // The other host has decided which API answers.
    const isOfEntry = vouchOf(request.socket)?.surface !== undefined
    if (isOfEntry && entries.some((entry) => entry.answers(request, response, () => {}))) return
    if (!answerForPort(request, response)) answerByRoute(request, response)
  })
  server.on('clientError', brokenRequests(service))
  server.on('connect', refuseTunnel)
  openUpgrades(server, { handlers: upgradeHandlers, log })
  return (connection) => void server.emit('connection', connection)
}

function noRoute(method: string, allowed: readonly string[]): HoltError {
  if (allowed.length === 0) return new HoltError('route_not_found', 'There is no such route.')
  return new HoltError('method_not_allowed', `This route does not support ${method}.`)
}

const patterns: readonly { readonly methods: readonly string[]; readonly pattern: RegExp }[] = [
  ...Object.values<Route>(routes).map((route) => ({
    methods: answersHead(route) ? [route.method, 'HEAD'] : [route.method],
    pattern: new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  })),
  siteRoute,
  mcpRoute,
]

function methodsOf(target: string): readonly string[] {
  const [path = ''] = target.split('?', 1)
  return [...new Set(patterns.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods))]
}

/**
 * Returns the listener for clients whose request is not HTTP/1.1, is too slow or has too large a
 * header.
 */
function brokenRequests(service: Api): (error: ParseFailure, socket: Socket) => void {
  const http2 = new WeakSet<Socket>()
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
    else if (hadLastAnswer(socket)) socket.end()
    else if (http2.has(socket)) {
      // `serveHttp2` serves it, with a time limit of its own.
    } else {
      const first = closedToClients(service) === null ? http2Start(error) : null
      if (first === null) return answerOnSocket(socket, { error: brokenRequest(error) })
      http2.add(socket)
      serveHttp2(service, { socket, first })
    }
  }
}

function brokenRequest({ code }: { code?: string }): HoltError {
  if (code === 'HPE_HEADER_OVERFLOW') return new HoltError('too_large', 'The headers are too large.')
  return new HoltError('invalid_request', 'This is not a valid HTTP request.')
}

/** Refuses CONNECT, which is not a route. Nothing is tunnelled, with or without a key. */
function refuseTunnel(_request: IncomingMessage, socket: Duplex): void {
  answerOnSocket(socket, { error: new HoltError('method_not_allowed', 'This service does not support CONNECT.') })
}
