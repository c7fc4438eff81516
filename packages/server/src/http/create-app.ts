import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { HoltError, makeId, type Route, routes } from '@holt/protocol'
import fastify, { type FastifyInstance } from 'fastify'
import { attachDoor } from '../attach/attach-door.ts'
import { portDoor, portRequests } from '../ports/port-door.ts'
import type { Service } from '../service.ts'
import type { Handlers } from './call.ts'
import { dropRestOfBody } from './drop-rest-of-body.ts'
import { registerRoutes } from './register-routes.ts'
import { answerOnSocket, sendError, standingHeaders } from './send-error.ts'
import { claimsUpgrade, openUpgrades, type UpgradeDoor } from './upgrades.ts'

/** Bounds of a connection. */
export interface ConnectionLimits {
  /** Time for the headers of a request; a body has limits of its own. */
  readonly headersTimeoutMs: number
  /** Time a connection may wait for its next request. */
  readonly keepAliveTimeoutMs: number
  readonly maxConnections: number
  readonly maxHeaderBytes: number
}

/** Enough for a slow client; few enough descriptors that the service keeps its own. */
export const connectionLimits: ConnectionLimits = {
  headersTimeoutMs: 15_000,
  keepAliveTimeoutMs: 65_000,
  maxConnections: 4096,
  maxHeaderBytes: 16 * 1024,
}

/** Makes the HTTP application: every route of the table, and an answer of the contract for everything else. */
export function createApp(
  service: Service,
  handlers: Handlers,
  limits: ConnectionLimits = connectionLimits,
): FastifyInstance {
  const doors: readonly UpgradeDoor[] = [portDoor(service), attachDoor(service)]
  const app = fastify({
    logger: false,
    genReqId: () => makeId('request'),
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    return503OnClosing: false,
    serverFactory: (answerByRoute) => makeHttpServer(limits, { doors, answer: portsFirst(service, answerByRoute) }),
    routerOptions: { querystringParser: () => ({}), maxParamLength: limits.maxHeaderBytes },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => void sendError(request, reply, { error, log: service.log }),
  })
  app.server.on('connect', refuseTunnel)
  openUpgrades(app.server, { doors, log: service.log })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(standingHeaders(request.id))
  })
  app.addHook('onResponse', async (request) => dropRestOfBody(request.raw))
  app.addHook('onRequestAbort', async (request) => void request.raw.destroy())
  app.setErrorHandler((error, request, reply) => sendError(request, reply, { error, log: service.log }))
  app.setNotFoundHandler((request, reply) => {
    const allowed = methodsOf(request.raw.url ?? '/')
    if (allowed.length > 0) reply.header('allow', allowed.join(', '))
    return sendError(request, reply, { error: noRoute(request.method, allowed), log: service.log })
  })
  registerRoutes(app, service, handlers)
  return app
}

/** Requests for ports are not the API's: they go to the program before any route sees them. */
function portsFirst(service: Service, answerByRoute: RequestListener): RequestListener {
  const answerForPort = portRequests(service)
  return (request, response) => {
    if (!answerForPort(request, response)) answerByRoute(request, response)
  }
}

function makeHttpServer(
  limits: ConnectionLimits,
  { doors, answer }: { doors: readonly UpgradeDoor[]; answer: RequestListener },
): Server {
  const server = createServer(
    {
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      headersTimeout: limits.headersTimeoutMs,
      maxHeaderSize: limits.maxHeaderBytes,
      connectionsCheckingInterval: Math.min(5000, limits.headersTimeoutMs),
      shouldUpgradeCallback: claimsUpgrade(doors),
    },
    answer,
  )
  server.maxConnections = limits.maxConnections
  return server
}

function noRoute(method: string, allowed: readonly string[]): HoltError {
  if (allowed.length === 0) return new HoltError('route_not_found', 'There is no such route.')
  return new HoltError('method_not_allowed', `This route does not take ${method}.`)
}

const patterns = Object.values<Route>(routes).map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}))

function methodsOf(target: string): readonly string[] {
  const [path = ''] = target.split('?', 1)
  return [...new Set(patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))]
}

/** Answers what is not HTTP, or too slow, or has too large a header. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const failure =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new HoltError('too_large', 'The headers are too large.')
      : new HoltError('invalid_request', 'This is not a valid HTTP request.')
  answerOnSocket(socket, { error: failure })
}

/** CONNECT is not a route: nothing is tunnelled, with or without a key. */
function refuseTunnel(_request: IncomingMessage, socket: Duplex): void {
  answerOnSocket(socket, { error: new HoltError('method_not_allowed', 'This service does not take CONNECT.') })
}
