import { type ControlMatch, E2bError, isAbsentPath, matchControl, readQuery, uploadPath } from '@holt/e2b'
import { HoltError, makeId } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import { recognise } from '../../api/http/connections.ts'
import { goneSignal } from '../../api/http/gone-signal.ts'
import { answerPlaced, placeRequest } from '../../api/http/place-request.ts'
import type { KeptFor } from '../../api/http/read-json.ts'
import type { RequestAccounts } from '../../api/http/request-accounts.ts'
import type { OpenEntry } from '../../foundation/request/audit-entry.ts'
import { noteSubject } from '../../foundation/request/audit-entry.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { clientAddress } from '../../foundation/request/client-address.ts'
import { actFor, noteCaller } from '../../foundation/request/request-context.ts'
import { vouchOf } from '../../foundation/request/vouch.ts'
import type { Forwarder, Owned, WantedThing } from '../../foundation/wire/forwarder.ts'
import { RequestEnd } from '../../foundation/wire/request-end.ts'
import { admitCaller } from '../../tenancy/auth/admit-caller.ts'
import { requireScope } from '../../tenancy/auth/authenticate.ts'
import { requireStillValid, vouchedCaller } from '../../tenancy/auth/vouched-caller.ts'
import { answerOnce, type RequestIds } from '../../tenancy/idempotency/answer-once.ts'
import { recordKeys } from '../../tenancy/idempotency/record-keys.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import { type E2bAnswer, writeAnswer } from '../answers/write-answer.ts'
import { auditControl } from './audit-control.ts'
import type { ControlCall, ControlRoute } from './control-call.ts'
import { controlHandlers } from './control-handlers.ts'
import { type ForwardedControl, forwardControl, ownedBy } from './forward-control.ts'
import { parseBody, parseWith } from './parse-control.ts'
import { serveUpload } from './uploaded-files.ts'

/** The parts that all requests to the control plane share. */
interface ControlParts {
  readonly accounts: RequestAccounts
  /** Sends the request to another host. Null: this host answers. */
  readonly forwarder: Forwarder | null
}

/**
 * Answers a request to the control plane, or forwards it to the host that does. A thrown error
 * becomes its answer.
 */
export async function serveControl(
  service: Api,
  { accounts, forwarder }: ControlParts,
  asked: E2bRequest,
): Promise<void> {
  if (asked.path.startsWith(uploadPath)) return serveUpload(service, accounts, asked)
  const match = findRoute(asked)
  asked.route = match.name
  if (match.name === 'health') return writeAnswer(asked, { status: 204 })
  const route = controlHandlers[match.name]
  const authorization = sentKey(asked)
  const rateHeaders: Record<string, string> = {}
  const caller = await callerOf(service, asked, (told) => void Object.assign(rateHeaders, told))
  const isPlaced = forwarder !== null && route.makes !== undefined
  const owned = forwarder === null ? null : ownedBy(route, caller, match.params)
  asked.isPlaced = route.makes !== undefined && vouchOf(asked.request.socket) !== null
  const held = isPlaced || owned !== null || asked.isPlaced
  const entry = auditControl(service, { match, route, caller, asked, held })
  noteCaller(caller)
  recognise(asked.request.socket, caller.projectId)
  requireScope(caller, route.scope)
  const end = new RequestEnd(asked.response)
  accounts.inFlight.enter(caller.projectId, end)
  using _work = end.work()
  const forwarded = { asked, caller, entry, headers: rateHeaders }
  if (forwarder !== null && owned !== null && (await forwarder.isElsewhere(owned)))
    if (await forwardControl(service, forwarder, { ...forwarded, owned })) return
  if (owned !== null && entry !== null) service.audit.release(entry)
  const memory = accounts.open(caller.projectId, end)
  const incoming = { match, route, caller, entry, asked, memory, authorization }
  const placed = isPlaced ? { ...forwarded, forwarder } : null
  const answer = await actFor({ ...caller, entry }, () => answerRequest(service, incoming, placed))
  if (answer === null) return
  if (answer.json !== undefined) {
    const bytes = Buffer.byteLength(JSON.stringify(answer.json))
    if (route.reads) memory.request.takeAnswer(bytes)
    else memory.request.noteAnswer(bytes)
  }
  writeAnswer(asked, { ...answer, headers: { ...rateHeaders, ...answer.headers } })
}

function findRoute({ request, path }: E2bRequest): ControlMatch {
  if (isAbsentPath(path)) throw new E2bError(501, 'Volumes and secrets are not part of this service')
  const match = matchControl(request.method ?? '', path)
  if (match === 'path') throw new E2bError(404, 'There is no such path')
  if (match === 'method') throw new E2bError(405, 'This path does not support the method')
  return match
}

/** Finds the caller, which another host has admitted if it has forwarded the request. */
async function callerOf(
  service: Api,
  asked: E2bRequest,
  tell: (headers: Record<string, string>) => void,
): Promise<Caller> {
  const vouch = vouchOf(asked.request.socket)
  if (vouch !== null) return vouchedCaller(vouch)
  return admitCaller(service, { authorization: sentKey(asked), peer: clientAddress(asked.request) }, tell)
}

/** Returns the `Authorization` header of a key, which clients send in another one. */
function sentKey({ request: { headers } }: E2bRequest): string | undefined {
  const key = headers['x-api-key']
  return typeof key === 'string' ? `Bearer ${key}` : headers.authorization
}

interface Incoming {
  readonly match: ControlMatch
  readonly route: ControlRoute
  readonly caller: Caller
  readonly entry: OpenEntry | null
  readonly asked: E2bRequest
  readonly memory: KeptFor
  readonly authorization: string | undefined
}

/** Parses a request and answers it. Returns null if another host has answered. */
async function answerRequest(
  service: Api,
  incoming: Incoming,
  placed: (ForwardedControl & { readonly forwarder: Forwarder }) | null,
): Promise<E2bAnswer | null> {
  const { route, asked, memory, authorization } = incoming
  const query = route.query === null ? undefined : parseWith(route.query, readQuery(asked.query), '/query')
  const { json, body } =
    route.body === null ? { json: null, body: undefined } : await parseBody(asked.request, memory, route.body)
  // A body may arrive slowly, and its key may have become invalid meanwhile.
  if (route.body !== null)
    await requireStillValid(service, { vouch: vouchOf(asked.request.socket), proof: () => authorization })
  const parsed = { query, body }
  const here = () => answerHere(service, incoming, parsed)
  if (asked.isPlaced) return answerPlaced(service, incoming.entry, here)
  if (placed === null) return here()
  const wanted = await wantedBy(route, callOf(service, incoming, parsed)({ newId: makeId }))
  if (wanted === null) return here()
  const { forwarder, ...forwarded } = placed
  const send = (owned: Owned, sent: Buffer) => forwardControl(service, forwarder, { ...forwarded, owned, body: sent })
  const { caller, entry } = forwarded
  const { requestId, request } = asked
  const { headers } = request
  return placeRequest(service, forwarder, { caller, entry, requestId, headers, wanted, json, send }, here)
}

/** Returns the thing that a request makes. Null: it makes none, and the answer says why. */
async function wantedBy({ makes }: ControlRoute, call: ControlCall<never, never>): Promise<WantedThing | null> {
  try {
    return (await makes?.(call)) ?? null
  } catch (error) {
    if (error instanceof HoltError || error instanceof E2bError) return null
    throw error
  }
}

interface Parsed {
  readonly query: unknown
  readonly body: unknown
}

/** Returns a function that makes the call of a request. */
function callOf(service: Api, { match, caller, entry, asked, memory }: Incoming, { query, body }: Parsed) {
  const { request, response } = asked
  const gone = goneSignal(service, response, caller)
  return ({ newId }: Pick<RequestIds, 'newId'>): ControlCall<never, never> => ({
    service,
    request,
    caller,
    params: match.params,
    body: body as never,
    query: query as never,
    ref: { projectId: caller.projectId, runtimeId: match.params.sandboxID ?? '' },
    get gone() {
      return gone()
    },
    keepAnswer: (bytes) => memory.request.takeAnswer(bytes),
    newId: (kind) => {
      const id = newId(kind)
      if (entry !== null) noteSubject(entry, id, 'made')
      return id
    },
  })
}

/** Answers a parsed request on this host. */
async function answerHere(service: Api, incoming: Incoming, parsed: Parsed): Promise<E2bAnswer> {
  const { match, route, caller, asked, memory } = incoming
  const { request } = asked
  const callWith = callOf(service, incoming, parsed)
  const key = request.headers['idempotency-key']
  if (key === undefined || request.method !== 'POST') return route.handle(callWith({ newId: makeId }))
  const { answer, replayed } = await answerOnce(service, {
    caller,
    key: String(key),
    keys: await recordKeys(service, caller.projectId),
    request: { name: `e2b ${match.name}`, params: match.params, ...parsed },
    showsSecret: false,
    hasToken: true,
    takesJson: () => true,
    bytes: null,
    answer: async (ids) => asStored(await route.handle(callWith(ids))),
    keepAnswer: (bytes) => memory.request.takeAnswer(bytes),
  })
  const { status } = answer
  const json = 'written' in answer ? JSON.parse(answer.written.toString()) : 'json' in answer ? answer.json : null
  return { status, headers: replayed ? { 'idempotent-replayed': 'true' } : {}, ...(json === null ? {} : { json }) }
}

/** Returns an answer as it is kept. Null stands for no body: no answer here is null. */
function asStored({ status, json = null }: E2bAnswer): { status: number; json: unknown } {
  return { status, json }
}
