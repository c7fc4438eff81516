import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'
import { atHome } from './fake-homes.ts'
import { type FakeParts, type FakeRoute, json } from './fake-route.ts'

/** The routes of the guest itself, of processes, and of ports. */
export const guestRoutes: readonly FakeRoute[] = [
  { method: 'GET', pattern: /^\/v1\/info$/, handle: info },
  {
    method: 'GET',
    pattern: /^\/v1\/usage$/,
    handle: ({ processes }) => ({ json: { processes: 1 + processes.size } }),
  },
  { method: 'POST', pattern: /^\/v1\/bind$/, handle: (parts, { body }) => bind(parts, json(body)) },
  { method: 'POST', pattern: /^\/v1\/seed$/, handle: ({ identity }, { body }) => identity.seed(json(body)) },
  { method: 'PUT', pattern: /^\/v1\/network$/, handle: ({ identity }, { body }) => identity.setNetwork(json(body)) },
  { method: 'POST', pattern: /^\/v1\/quiesce$/, handle: (parts, { query }) => quiesce(parts, query) },
  {
    method: 'POST',
    pattern: /^\/v1\/processes$/,
    handle: ({ processes, identity, files }, { query, body }) =>
      processes.start(atHome(files.nodes, json(body)), identity.defaults, query.get('follow') === '1'),
  },
  { method: 'GET', pattern: /^\/v1\/processes$/, handle: ({ processes }, { query }) => processes.list(query) },
  { method: 'GET', pattern: /^\/v1\/processes\/(\w+)$/, handle: ({ processes }, { name }) => processes.get(name) },
  {
    method: 'GET',
    pattern: /^\/v1\/processes\/(\w+)\/output$/,
    handle: ({ processes }, { name, query }) => processes.output(name, query),
  },
  {
    method: 'POST',
    pattern: /^\/v1\/processes\/(\w+)\/stdin$/,
    handle: ({ processes }, { name, query, body }) => processes.stdin(name, query, body),
  },
  {
    method: 'POST',
    pattern: /^\/v1\/processes\/(\w+)\/signal$/,
    handle: ({ processes }, { name, body }) => processes.signal(name, json(body).signal),
  },
  {
    method: 'POST',
    pattern: /^\/v1\/processes\/(\w+)\/resize$/,
    handle: ({ processes }, { name, body }) => processes.resize(name, json(body)),
  },
  { method: 'DELETE', pattern: /^\/v1\/processes\/(\w+)$/, handle: ({ processes }, { name }) => processes.kill(name) },
  { method: 'GET', pattern: /^\/v1\/sessions$/, handle: ({ processes }) => processes.listSessions() },
  {
    method: 'DELETE',
    pattern: /^\/v1\/sessions\/([\w.-]+)$/,
    handle: ({ processes }, { name }) => processes.endSession(name),
  },
  { method: 'GET', pattern: /^\/v1\/ports$/, handle: ({ ports }) => ports.list() },
  {
    method: 'GET',
    pattern: /^\/v1\/ports\/(\d+)$/,
    handle: ({ ports }, { name, query, request }) =>
      ports.wait(Number(name), Number(query.get('wait_ms') ?? 0), request.signal),
  },
]

function info({ identity, processes: { size, foreground } }: FakeParts): FakeAnswer {
  const runtime_id = identity.bound?.runtime_id ?? null
  return { json: { version: 'fake', protocol: 1, runtime_id, processes: size, foreground } }
}

function bind(
  { identity, operations, baselines }: FakeParts,
  request: Parameters<FakeParts['identity']['bind']>[0],
): FakeAnswer {
  const before = identity.bound?.runtime_id
  const answer = identity.bind(request)
  if (before === request.runtime_id) return answer
  operations.forget()
  baselines.adopt()
  return answer
}

function quiesce({ processes, baselines, disconnect }: FakeParts, query: URLSearchParams): FakeAnswer {
  if (processes.size > 0 && query.get('force') !== '1') throw new HoltError('conflict', 'processes run')
  baselines.use(query.get('baseline') ?? '')
  disconnect()
  return { json: {} }
}
