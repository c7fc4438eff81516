import { type ControlMatch, E2bError, isAbsentPath, matchControl, readQuery, uploadPath } from '@holt/e2b'
import { makeId } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import { recognise } from '../../api/http/connections.ts'
import { goneSignal } from '../../api/http/gone-signal.ts'
import type { KeptFor } from '../../api/http/read-json.ts'
import type { RequestAccounts } from '../../api/http/request-accounts.ts'
import type { OpenEntry } from '../../foundation/request/audit-entry.ts'
import { noteSubject } from '../../foundation/request/audit-entry.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { clientAddress } from '../../foundation/request/client-address.ts'
import { actFor, noteCaller } from '../../foundation/request/request-context.ts'
import { RequestEnd } from '../../foundation/wire/request-end.ts'
import { admitCaller } from '../../tenancy/auth/admit-caller.ts'
import { authenticate, requireScope } from '../../tenancy/auth/authenticate.ts'
import { answerOnce, type RequestIds } from '../../tenancy/idempotency/answer-once.ts'
import { recordKeys } from '../../tenancy/idempotency/record-keys.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import { type E2bAnswer, writeAnswer } from '../answers/write-answer.ts'
import { auditControl } from './audit-control.ts'
import type { ControlCall, ControlRoute } from './control-call.ts'
import { controlHandlers } from './control-handlers.ts'
import { parseBody, parseWith } from './parse-control.ts'
import { serveUpload } from './uploaded-files.ts'

/** Answers a request to the control plane. A thrown error becomes its answer. */
export async function serveControl(service: Api, accounts: RequestAccounts, asked: E2bRequest): Promise<void> {
  if (asked.path.startsWith(uploadPath)) return serveUpload(service, accounts, asked)
  const match = findRoute(asked)
  asked.route = match.name
  if (match.name === 'health') return writeAnswer(asked, { status: 204 })
  const route = controlHandlers[match.name]
  const authorization = sentKey(asked)
  const claim = { authorization, peer: clientAddress(asked.request) }
  const rateHeaders: Record<string, string> = {}
  const caller = await admitCaller(service, claim, (told) => void Object.assign(rateHeaders, told))
  const entry = auditControl(service, { match, route, caller, asked })
  noteCaller(caller)
  recognise(asked.request.socket, caller.projectId)
  requireScope(caller, route.scope)
  const end = new RequestEnd(asked.response)
  accounts.inFlight.enter(caller.projectId, end)
  using _work = end.work()
  const memory = accounts.open(caller.projectId, end)
  const answer = await actFor({ ...caller, entry }, () =>
    answerRequest(service, { match, route, caller, entry, asked, memory, authorization }),
  )
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

async function answerRequest(service: Api, incoming: Incoming): Promise<E2bAnswer> {
  const { match, route, caller, entry, asked, memory, authorization } = incoming
  const { request, response } = asked
  const query = route.query === null ? undefined : parseWith(route.query, readQuery(asked.query), '/query')
  const body = route.body === null ? undefined : await parseBody(request, memory, route.body)
  // A body may arrive slowly, and its key may have become invalid meanwhile.
  if (route.body !== null) await authenticate(service, authorization)
  const gone = goneSignal(service, response, caller)
  const callWith = ({ newId }: Pick<RequestIds, 'newId'>): ControlCall<never, never> => ({
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
  const key = request.headers['idempotency-key']
  if (key === undefined || request.method !== 'POST') return route.handle(callWith({ newId: makeId }))
  const { answer, replayed } = await answerOnce(service, {
    caller,
    key: String(key),
    keys: await recordKeys(service, caller.projectId),
    request: { name: `e2b ${match.name}`, params: match.params, query, body },
    showsSecret: false,
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
