import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { HoltError, makeId, type Route, routes } from '@holt/protocol'
import fastify, { type FastifyInstance } from 'fastify'
import type { Service } from '../service.ts'
import type { Handlers } from './call.ts'
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

/** How long what is left of a body that nobody wants is taken in, so that the client can read the answer. */
const lingerMs = 5_000

/** Makes the HTTP application: every route of the table, and an answer of the contract for everything else. */
export function createApp(
  service: Service,
  handlers: Handlers,
  limits: ConnectionLimits = connectionLimits,
): FastifyInstance {
  const doors: readonly UpgradeDoor[] = []
  const app = fastify({
    logger: false,
    genReqId: () => makeId('request'),
    exposeHeadRoutes: false,
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    forceCloseConnections: true,
    return503OnClosing: false,
    http: {
      headersTimeout: limits.headersTimeoutMs,
      maxHeaderSize: limits.maxHeaderBytes,
      connectionsCheckingInterval: Math.min(5000, limits.headersTimeoutMs),
      shouldUpgradeCallback: claimsUpgrade(doors),
    },
    routerOptions: { querystringParser: () => ({}), maxParamLength: limits.maxHeaderBytes },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => void sendError(request, reply, { error, log: service.log }),
  })
  app.server.maxConnections = limits.maxConnections
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

/** Takes in what is left of an unread body for a while, and then hangs up. */
function dropRestOfBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.resume()
  const timer = setTimeout(() => request.socket.destroy(), lingerMs).unref()
  request.once('close', () => clearTimeout(timer)).once('error', () => clearTimeout(timer))
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
