import { type Route, routes } from '@holt/protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { clientLeft } from '../metrics/http-metrics.ts'
import type { Service } from '../service.ts'
import { type RequestContext, runFor } from './request-context.ts'

/** What a client may call its request: it stands in logs and answers as it is. */
const soundId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/**
 * The id that a client gives a request; null where it gives none, or one that is not fit for it.
 */
export function givenRequestId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && soundId.test(header) ? header : null
}

/** The paths of the table as they are registered, each with its path in the table. */
const paths: ReadonlyMap<string, string> = new Map(
  Object.values<Route>(routes).map(({ path }) => [registeredPath(path), path]),
)

/** A path of the table as the router has it. */
export function registeredPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/**
 * Has every request counted, traced and, at level `debug`, written to the log when it has ended.
 * All that works for it knows its id.
 */
export function observeRequests(app: FastifyInstance, { metrics, tracer, log }: Service): void {
  const answeredAt = new WeakMap<FastifyRequest, number>()
  app.addHook('onRequest', (request, reply, done) => {
    const route = paths.get(request.routeOptions.url ?? '') ?? 'none'
    const { method } = request
    const begunAt = performance.now()
    // A body that breaks off in a pipeline takes the socket from its request, so that the answer
    // can still be sent (`destroyer` of `lib/internal/streams/destroy.js`).
    const peer = request.socket.remoteAddress
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
      const facts = { method, route, status, ms: Math.round((now - begunAt) * 10) / 10, key_id: keyId }
      log.debug({ request_id: request.id, ...facts, peer }, 'a request has ended')
    })
    runFor(context, done)
  })
  app.addHook('onSend', (request, _reply, payload, done) => {
    answeredAt.set(request, performance.now())
    done(null, payload)
  })
}
