import type { IdKind, Route, RouteName } from '@holt/protocol'
import { makeId, routes } from '@holt/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { authenticate, type Caller, requireScope } from '../auth/authenticate.ts'
import { answerOnce } from '../idempotency/answer-once.ts'
import type { Service } from '../service.ts'
import type { Answer, Call, Handlers } from './call.ts'
import { invalidRequest } from './field-issues.ts'
import { goneSignal } from './gone-signal.ts'
import { parseQuery } from './parse-query.ts'
import { readJson } from './read-json.ts'
import { sendAnswer } from './send-answer.ts'

/** A call before its types are narrowed to one route. */
type AnyCall = Call<RouteName>

/** Registers every route of the table with its handler. */
export function registerRoutes(app: FastifyInstance, service: Service, handlers: Handlers): void {
  for (const [name, route] of Object.entries<Route>(routes) as [RouteName, Route][]) {
    // The handler's own parameter type is the one of `name`; the parsed call below has exactly that shape.
    const handle = handlers[name] as unknown as (call: AnyCall) => Promise<Answer>
    app.route({
      method: route.method,
      url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      onRequest: async (request) => {
        const caller = route.scope === null ? null : await authenticate(service, request.headers.authorization)
        if (caller !== null && route.scope !== null) requireScope(caller, route.scope)
        callers.set(request, caller)
      },
      handler: async (request, reply) => {
        const { answer, replayed } = await answerRequest(service, { name, route, handle, request, reply })
        if (replayed) reply.header('idempotent-replayed', 'true')
        return sendAnswer(service, { request, reply, answer, caller: callers.get(request) ?? null })
      },
    })
  }
}

/** Who sent each request, from the check before its body was read. */
const callers = new WeakMap<FastifyRequest, Caller | null>()

interface Incoming {
  readonly name: RouteName
  readonly route: Route
  readonly handle: (call: AnyCall) => Promise<Answer>
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

async function answerRequest(
  service: Service,
  { name, route, handle, request, reply }: Incoming,
): Promise<{ answer: Answer; replayed: boolean }> {
  const caller = callers.get(request) ?? null
  const parsed = await parseRequest(route, request)
  const gone = goneSignal(service, reply.raw, caller?.keyId ?? null)
  const callWith = (newId: (kind: IdKind) => string): AnyCall =>
    ({
      service,
      caller,
      ...parsed,
      headers: request.headers,
      get gone() {
        return gone()
      },
      newId,
    }) as unknown as AnyCall
  const key = request.headers['idempotency-key']
  // Bytes are not kept to be compared; what is made of them is the same when they come again.
  if (caller === null || route.method !== 'POST' || route.body.type === 'bytes' || key === undefined)
    return { answer: await handle(callWith(makeId)), replayed: false }
  return answerOnce(service, {
    caller,
    key: String(key),
    secret: request.headers.authorization ?? '',
    request: { name, params: parsed.params, body: parsed.body, accept: request.headers.accept ?? null },
    answer: (newId) => handle(callWith(newId)),
  })
}

/** An issue keeps the value it is about: whether there was one tells a missing field from one of a wrong type. */
const withInput = { reportInput: true } as const

/** Parses everything of a request; all that is wrong with it is one error. */
async function parseRequest(route: Route, request: FastifyRequest) {
  const params = route.params?.safeParse(request.params)
  const query = route.query?.safeParse(parseQuery(request.raw.url ?? '/'), withInput)
  const json = route.body.type === 'json' ? await readJson(request.raw) : undefined
  const body = route.body.type === 'json' ? route.body.schema.safeParse(json, withInput) : null
  const errors = [
    { result: params, prefix: '/path' as const },
    { result: query, prefix: '/query' as const },
    { result: body, prefix: '' as const },
  ].flatMap(({ result, prefix }) => (result?.success === false ? [{ error: result.error as z.ZodError, prefix }] : []))
  if (errors.length > 0) throw invalidRequest(errors)
  const sentFields = new Set(typeof json === 'object' && json !== null ? Object.keys(json) : [])
  return {
    params: params?.data,
    query: query?.data,
    sentFields,
    body: route.body.type === 'bytes' ? request.raw : body?.data,
  }
}
