import type { IdKind, Route, RouteName } from '@holt/protocol'
import { makeId, routes } from '@holt/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { noteSubject, type OpenEntry } from '../../foundation/request/audit-entry.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { clientAddress } from '../../foundation/request/client-address.ts'
import { actFor, noteCaller } from '../../foundation/request/request-context.ts'
import { vouchOf } from '../../foundation/request/vouch.ts'
import type { Answer, Call } from '../../foundation/wire/call.ts'
import { ClientGone } from '../../foundation/wire/client-gone.ts'
import { invalidRequest } from '../../foundation/wire/field-issues.ts'
import type { Forwarder, Owned } from '../../foundation/wire/forwarder.ts'
import { requestParsing } from '../../foundation/wire/issue-words.ts'
import { parseQuery } from '../../foundation/wire/parse-query.ts'
import { RequestEnd } from '../../foundation/wire/request-end.ts'
import { acceptedFormat } from '../../foundation/wire/stream-items.ts'
import { openGuest } from '../../runtimes/links/open-guest.ts'
import { auditRequest } from '../../tenancy/audit/audit-request.ts'
import { admitCaller } from '../../tenancy/auth/admit-caller.ts'
import { type Proof, requireScope } from '../../tenancy/auth/authenticate.ts'
import { proofOf } from '../../tenancy/auth/proof-of.ts'
import { requireStillValid, vouchedCaller } from '../../tenancy/auth/vouched-caller.ts'
import { answerOnce, type RequestIds, requireKey } from '../../tenancy/idempotency/answer-once.ts'
import { hashedBody } from '../../tenancy/idempotency/hashed-body.ts'
import { recordKeys } from '../../tenancy/idempotency/record-keys.ts'
import type { Api, Handlers } from '../api.ts'
import { registeredPath } from '../telemetry/observe-requests.ts'
import { answersFrontsAlone } from './closed-to-clients.ts'
import { recognise } from './connections.ts'
import { forwardRoute, forwardTo, mayBeElsewhere } from './forward-route.ts'
import { goneSignal } from './gone-signal.ts'
import { answerPlaced, placeRequest } from './place-request.ts'
import { type KeptFor, readJson } from './read-json.ts'
import type { RequestAccounts } from './request-accounts.ts'
import { sendAnswer } from './send-answer.ts'
import { wantedThing } from './wanted-thing.ts'

/** A call before its types are narrowed to one route. */
type AnyCall = Call<RouteName, Api>

/** The parts that all routes share. */
interface RouteParts {
  readonly handlers: Handlers
  readonly accounts: RequestAccounts
  /** Sends requests to the other hosts that own their subjects. Null: there are no other hosts. */
  readonly forwarder: Forwarder | null
}

/** Registers every route of the table with its handler. */
export function registerRoutes(
  app: FastifyInstance,
  service: Api,
  { handlers, accounts, forwarder }: RouteParts,
): void {
  app.decorateRequest('admitted', null)
  for (const [name, route] of Object.entries<Route>(routes) as [RouteName, Route][]) {
    // The handler's own parameter type is the one of `name`; the parsed call below has exactly that
    // shape.
    const handle = handlers[name] as unknown as (call: AnyCall) => Promise<Answer>
    app.route({
      method: route.method,
      url: registeredPath(route.path),
      exposeHeadRoute: answersHead(route),
      onRequest: async (request, reply) => {
        if (route.scope === null || isForAnyone(service, route)) return
        const caller = await callerOf(service, request, reply, proofOf(service, request.raw))
        const mayForward = forwarder !== null && mayBeElsewhere(route) && vouchOf(request.raw.socket) === null
        const entry = auditRequest(service, { name, route, caller, request, reply, held: mayForward })
        noteCaller(caller)
        recognise(request.raw.socket, caller.projectId)
        requireScope(caller, route.scope)
        const end = new RequestEnd(reply.raw)
        request.admitted = { caller, entry, end }
        accounts.inFlight.enter(caller.projectId, end)
        if (!mayForward || route.runsOn === 'placed') return
        const isForwarded = await forwardRoute(service, forwarder, { route, caller, entry, end, request, reply })
        if (!isForwarded && entry !== null && route.hasDryRun !== true) service.audit.release(entry)
      },
      handler: async (request, reply) => {
        if (reply.raw.destroyed) throw new ClientGone('the client disconnected')
        const { caller, entry, end } = request.admitted ?? {
          caller: null,
          entry: null,
          end: new RequestEnd(reply.raw),
        }
        using _work = end.work()
        const memory = accounts.open(caller?.projectId ?? '', end)
        const run = () => answerRequest(service, { name, route, handle, request, reply, memory, end, forwarder })
        const answered = caller === null ? await run() : await actFor({ ...caller, entry }, run)
        if (answered === null) return reply
        const { answer, replayed } = answered
        if (replayed) reply.header('idempotent-replayed', 'true')
        const isRepeatable = replayed || onlyReads(route)
        return sendAnswer(service, {
          request,
          reply,
          answer,
          caller,
          isRepeatable,
          kept: memory.request,
        })
      },
    })
  }
}

/**
 * Finds the caller of a request, and writes the headers of its rate limit. The caller of a request
 * that another host has forwarded is the one that this host vouches for. It has counted the
 * request.
 */
export async function callerOf(
  service: Api,
  { raw }: FastifyRequest,
  reply: FastifyReply,
  proof: Proof,
): Promise<Caller> {
  const vouch = vouchOf(raw.socket)
  if (vouch !== null) return vouchedCaller(vouch)
  const claim = { authorization: proof, peer: clientAddress(raw) }
  return admitCaller(service, claim, (told) => void reply.headers(told))
}

/** The facts of a request whose key was admitted before its body was read. */
interface Admitted {
  readonly caller: Caller
  /** The audit entry. Null if the request changes nothing. */
  readonly entry: OpenEntry | null
  /** The end of the request, which counts until then. */
  readonly end: RequestEnd
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null before admission, and if the route takes no key. */
    admitted: Admitted | null
  }
}

interface Incoming {
  readonly name: RouteName
  readonly route: Route
  readonly handle: (call: AnyCall) => Promise<Answer>
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly memory: KeptFor
  readonly end: RequestEnd
  readonly forwarder: Forwarder | null
}

/**
 * Returns true if a route takes HEAD besides GET. Probes, caches and browsers send HEAD for things
 * that anyone may read.
 */
export function answersHead({ method, scope }: Route): boolean {
  return method === 'GET' && scope === null
}

/** Returns true if anyone may use a route. A worker knows no keys, and shows metrics without. */
function isForAnyone({ config }: Api, { path }: Route): boolean {
  return path === routes.metrics.path && answersFrontsAlone(config)
}

function onlyReads({ method, scope }: Route): boolean {
  return method === 'GET' || scope?.endsWith(':read') === true
}

/** An answer, or null if another host has answered. */
type Answered = { readonly answer: Answer; readonly replayed: boolean } | null

async function answerRequest(service: Api, incoming: Incoming): Promise<Answered> {
  const { route, request, reply, memory, end, forwarder } = incoming
  const { caller, entry } = request.admitted ?? { caller: null, entry: null }
  const isVouched = vouchOf(request.raw.socket) !== null
  const { json, ...parsed } = await parseRequest(route, request, memory)
  // A body may arrive slowly, and its key may have become invalid meanwhile.
  if (caller !== null && route.body.type === 'json')
    await requireStillValid(service, {
      vouch: vouchOf(request.raw.socket),
      proof: () => proofOf(service, request.raw),
    })
  const here = () => answerHere(service, incoming, parsed)
  if (forwarder === null || route.runsOn !== 'placed' || caller === null) return here()
  if (isVouched) return answerPlaced(service, entry, here)
  const wanted = await wantedThing(service, { ...incoming, caller, params: parsed.params, body: parsed.body })
  const admitted = { route, caller, entry, end, request, reply }
  const send = (owned: Owned, sent: Buffer) => forwardTo(service, forwarder, { ...admitted, owned, body: sent })
  const { headers, id: requestId } = request
  return placeRequest(service, forwarder, { caller, entry, requestId, headers, wanted, json, send }, here)
}

/** Answers a parsed request on this host. */
async function answerHere(
  service: Api,
  { name, route, handle, request, reply, memory, forwarder }: Incoming,
  parsed: Omit<Awaited<ReturnType<typeof parseRequest>>, 'json'>,
): Promise<{ readonly answer: Answer; readonly replayed: boolean }> {
  const { caller, entry } = request.admitted ?? { caller: null, entry: null }
  const gone = goneSignal(service, reply.raw, caller)
  const callWith = ({ newId, operation }: RequestIds, body: unknown): AnyCall =>
    ({
      service,
      caller,
      ...parsed,
      body,
      keep: (bytes: number) => memory.request.take(bytes),
      keepAnswer: (bytes: number) => memory.request.takeAnswer(bytes),
      headers: request.headers,
      get gone() {
        return gone()
      },
      newId: (kind: IdKind) => {
        const id = newId(kind)
        if (entry !== null) noteSubject(entry, id, 'made')
        return id
      },
      operation,
      ...(caller === null ? {} : runtimeOf(service, { caller, params: parsed.params, operation, gone })),
    }) as unknown as AnyCall
  const key = request.headers['idempotency-key']
  const isDry = isDryRun(route, parsed.body)
  // Another host may answer a placed request after this one has refused it.
  const isHeld = forwarder !== null && route.runsOn === 'placed'
  if (entry !== null && route.hasDryRun === true && (isDry || !isHeld)) service.audit[isDry ? 'drop' : 'release'](entry)
  if (isDry && key !== undefined) requireKey(String(key))
  if (caller === null || route.method !== 'POST' || key === undefined || isDry)
    return { answer: await handle(callWith({ newId: makeId, operation: () => null }, parsed.body)), replayed: false }
  const keys = await recordKeys(service, caller.projectId)
  const bytes = route.body.type === 'bytes' ? hashedBody(request.raw, keys.fingerprint) : null
  const { params, query } = parsed
  const body = bytes === null ? parsed.body : null
  return answerOnce(service, {
    caller,
    key: String(key),
    keys,
    request: { name, params, query, body },
    showsSecret: route.showsSecret === true,
    takesJson: (status) => acceptedFormat(request.headers.accept) === null || !mayStream(route, status),
    bytes,
    answer: (ids) => handle(callWith(ids, bytes === null ? parsed.body : bytes.body)),
    keepAnswer: (bytes) => memory.request.takeAnswer(bytes),
  })
}

/** The parts of a call that locate its runtime. */
interface RuntimeCall {
  readonly caller: Caller
  readonly params: unknown
  readonly operation: () => string | null
  readonly gone: () => AbortSignal
}

/** Returns the members of a call whose route is below a runtime, and none for other routes. */
function runtimeOf(service: Api, { caller, params, operation, gone }: RuntimeCall) {
  const { runtime_id: runtimeId } = (params ?? {}) as { readonly runtime_id?: string }
  if (runtimeId === undefined) return {}
  const ref = { projectId: caller.projectId, runtimeId }
  return { ref, guest: async () => (await openGuest(service, ref, { operation, gone: gone() })).guest }
}

function isDryRun({ hasDryRun }: Route, body: unknown): boolean {
  return hasDryRun === true && (body as { readonly dry_run?: boolean }).dry_run === true
}

/** Returns true if a success may be a stream for a client that asks for one. */
function mayStream({ answers }: Route, status: number): boolean {
  const success = answers[status]
  return success?.type === 'json' && success.stream !== undefined
}

/**
 * Returns path parameters that every store can be queried for. U+FFFD replaces NUL, and no name has
 * either of them.
 */
function storable(params: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, value.replaceAll('\0', '\uFFFD')]))
}

/** Reads a JSON body and validates it with the schema of its route. */
async function readBody({ body }: Route, { raw }: FastifyRequest, kept: KeptFor) {
  if (body.type !== 'json') return { json: undefined, body: null }
  return readJson(raw, kept, (json) => ({ json, body: body.schema.safeParse(json, requestParsing) }))
}

/** Parses all parts of a request. Throws one error for everything that is wrong. */
async function parseRequest(route: Route, request: FastifyRequest, kept: KeptFor) {
  const params = route.params?.safeParse(storable(request.params as Readonly<Record<string, string>>), requestParsing)
  const query = route.query?.safeParse(parseQuery(request.raw.url ?? '/'), requestParsing)
  const { json, body } = await readBody(route, request, kept)
  const errors = [
    { result: params, prefix: '/path' as const },
    { result: query, prefix: '/query' as const },
    { result: body, prefix: '' as const },
  ].flatMap(({ result, prefix }) => (result?.success === false ? [{ error: result.error as z.ZodError, prefix }] : []))
  if (errors.length > 0) throw invalidRequest(errors)
  const sentFields = new Set(typeof json === 'object' && json !== null ? Object.keys(json) : [])
  return {
    // Another host may need it as it was sent.
    json: route.runsOn === 'placed' ? json : undefined,
    params: params?.data,
    query: query?.data,
    sentFields,
    body: route.body.type === 'bytes' ? request.raw : body?.data,
  }
}
