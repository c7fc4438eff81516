import { type Route, routes } from '@holt/protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { clientAddress } from '../../foundation/request/client-address.ts'
import { type RequestContext, runFor } from '../../foundation/request/request-context.ts'
import { vouchOf } from '../../foundation/request/vouch.ts'
import { clientLeft } from '../../foundation/wire/client-gone.ts'
import type { Api } from '../api.ts'

/** The form of a client's request id. It is copied into logs and answers. */
const soundId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Returns the client's id of a request. Returns null if there is none, or if its form is wrong. */
export function givenRequestId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && soundId.test(header) ? header : null
}

/** The path of the Model Context Protocol, which is not in the route table. */
export const mcpPath = '/mcp'

/** The paths in the route table and that one, by their registered form. */
const paths: ReadonlyMap<string, string> = new Map(
  [...Object.values<Route>(routes).map(({ path }) => path), mcpPath].map((path) => [registeredPath(path), path]),
)

/** Returns a path of the table in the router's form. */
export function registeredPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

const answeredAt = new WeakMap<FastifyRequest, number>()

/** Notes that the answer to a request begins. Answers that no reply sends call this themselves. */
export function noteAnswer(request: FastifyRequest): void {
  answeredAt.set(request, performance.now())
}

/**
 * Counts and traces every request, and logs its end at level `debug`. All work for a request knows
 * its id.
 */
export function observeRequests(app: FastifyInstance, { metrics, tracer, log }: Api): void {
  app.addHook('onRequest', (request, reply, done) => {
    const route = paths.get(request.routeOptions.url ?? '') ?? 'none'
    const { method } = request
    const begunAt = performance.now()
    // Read at the start. A body that breaks off in a pipeline detaches the socket from its request,
    // so that the answer can still be sent. This is `destroyer` of
    // `lib/internal/streams/destroy.js` in Node.
    const peer = clientAddress(request.raw)
    const vouch = vouchOf(request.socket)
    const entryHost = vouch === null ? {} : { entry_host_id: vouch.entryHostId }
    const span = tracer.beginRequest(`${method} ${route}`, request.headers, {
      'http.request.method': method,
      'http.route': route,
      'holt.request_id': request.id,
    })
    const context: RequestContext = { requestId: request.id, caller: null, span }
    const ended = metrics.http.begin()
    reply.raw.once('close', () => {
      const status = reply.raw.headersSent ? reply.raw.statusCode : clientLeft
      const now = performance.now()
      ended({ method, route, status, seconds: ((answeredAt.get(request) ?? now) - begunAt) / 1000 })
      const { keyId, projectId } = context.caller ?? { keyId: null, projectId: null }
      span?.set({
        'http.response.status_code': status,
        ...(projectId === null ? {} : { 'holt.project_id': projectId, 'holt.key_id': keyId }),
      })
      span?.end(status >= 500 ? new Error(String(status)) : undefined)
      const facts = { method, route, status, ms: Math.round((now - begunAt) * 10) / 10, key_id: keyId, ...entryHost }
      log.debug({ request_id: request.id, ...facts, peer }, 'a request has ended')
    })
    runFor(context, done)
  })
  app.addHook('onSend', (request, _reply, payload, done) => {
    noteAnswer(request)
    done(null, payload)
  })
}
