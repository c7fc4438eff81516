import { isIdParam, type Route, type RouteAnswer } from '@holt/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OpenEntry } from '../../foundation/request/audit-entry.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { currentRequest } from '../../foundation/request/request-context.ts'
import { connectionFacts } from '../../foundation/request/vouch.ts'
import { apiAnswerHeaders } from '../../foundation/wire/api-answer-headers.ts'
import { endToEndHeaders } from '../../foundation/wire/end-to-end-headers.ts'
import type { Forwarder, Owned } from '../../foundation/wire/forwarder.ts'
import type { RequestEnd } from '../../foundation/wire/request-end.ts'
import { isCredentialHeader, isFleetHeader } from '../../tenancy/auth/credential-headers.ts'
import type { Api } from '../api.ts'
import { noteAnswer } from '../telemetry/observe-requests.ts'

/** The request headers that this host replaces when it forwards to the owner. */
const rewritten: ReadonlySet<string> = new Set(['expect', 'traceparent', 'x-request-id'])

/** The kinds of bodies and answers that may be large. */
const bulky: ReadonlySet<RouteAnswer['type']> = new Set(['bytes', 'websocket'])

/** Returns true if another host may answer a route. */
export function mayBeElsewhere({ runsOn }: Route): boolean {
  return runsOn !== 'entry'
}

/** An admitted request that another host may answer. */
export interface AdmittedRequest {
  readonly route: Route
  readonly caller: Caller
  readonly entry: OpenEntry | null
  readonly end: RequestEnd
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/**
 * Forwards an admitted request to the owner of its runtime or build. Its body is not read before.
 * The client's key stays here, and the other host writes the audit entry. Returns false if this
 * host answers.
 */
export async function forwardRoute(service: Api, forwarder: Forwarder, admitted: AdmittedRequest): Promise<boolean> {
  const owned = ownedBy(admitted.caller, admitted.route, admitted.request.params as Readonly<Record<string, string>>)
  if (owned === null || !(await forwarder.isElsewhere(owned))) return false
  return forwardTo(service, forwarder, { ...admitted, owned })
}

/**
 * Forwards an admitted request to a host, with the body if it was read already. Returns false if
 * nothing was sent, because this host answers by now.
 */
export async function forwardTo(
  service: Api,
  forwarder: Forwarder,
  {
    owned,
    body,
    route,
    caller,
    entry,
    end,
    request,
    reply,
  }: AdmittedRequest & { readonly owned: Owned; readonly body?: Buffer },
): Promise<boolean> {
  using _work = end.work()
  const response = reply.raw
  service.streams.add(caller, response, () => response.destroy())
  const beforeAnswer = () => {
    if (entry !== null) service.audit.drop(entry)
    reply.hijack()
    noteAnswer(request)
    return ownHeaders(reply)
  }
  const { raw } = request
  const hides = (name: string) => {
    const isOfBody = body !== undefined && name === 'content-length'
    return isOfBody || isCredentialHeader(name) || isFleetHeader(name) || rewritten.has(name)
  }
  const status = await forwarder.forward({
    ...{ owned, request: raw, response, target: raw.url ?? '/', headers: endToEndHeaders(raw, hides) },
    answerHeaders: apiAnswerHeaders,
    ...(body === undefined ? {} : { body }),
    vouch: {
      requestId: request.id,
      ...connectionFacts(raw),
      address: service.ownCalls.senderOf(request) ?? null,
      caller,
      visit: null,
    },
    traceparent: traceparentOf(request),
    isBulk: isBulk(route),
    beforeAnswer,
  })
  return status !== null
}

/** Returns the runtime or build in a path. Returns null if there is none, or if its id is wrong. */
function ownedBy(
  { projectId }: Caller,
  { whilePaused }: Route,
  params: Readonly<Record<string, string>>,
): Owned | null {
  const { runtime_id: runtimeId, build_id: buildId } = params
  if (runtimeId !== undefined)
    return isIdParam('runtime_id', runtimeId)
      ? { type: 'runtime', projectId, id: runtimeId, ...wakesOf(whilePaused) }
      : null
  if (buildId !== undefined) return isIdParam('build_id', buildId) ? { type: 'build', projectId, id: buildId } : null
  return null
}

function wakesOf(whilePaused: Route['whilePaused']): Pick<Owned, 'wakes'> {
  if (whilePaused === 'answer') return {}
  return { wakes: whilePaused ?? 'request' }
}

function isBulk({ body, answers }: Route): boolean {
  return body.type === 'bytes' || Object.values(answers).some(({ type }) => bulky.has(type))
}

/**
 * Returns the parent of the owner's span (W3C Trace Context, 3.2). Without a span of this host, it
 * is that of the client.
 */
function traceparentOf({ headers }: FastifyRequest): string | null {
  const span = currentRequest()?.span ?? null
  if (span !== null) return `00-${span.traceId}-${span.spanId}-${span.isSampled ? '01' : '00'}`
  return typeof headers.traceparent === 'string' ? headers.traceparent : null
}

/** Returns the headers that this host has prepared: the request id, and the rate limit. */
function ownHeaders(reply: FastifyReply): Record<string, string> {
  const own = Object.entries(reply.getHeaders()).filter(
    ([name]) => name === 'x-request-id' || name.startsWith('ratelimit-'),
  )
  return Object.fromEntries(own.map(([name, value]) => [name, String(value)]))
}
