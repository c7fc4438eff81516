import { join } from 'node:path'
import { EngineError, type GuestLink, type GuestRequest } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { makeId, type Route, type RouteName, routes } from '@holt/protocol'
import { expect, test } from 'vitest'
import type { AgentTemplate } from '../../../src/resources/agents/agent-template.ts'
import { readAgentTemplates } from '../../../src/resources/agents/agent-template.ts'
import { giveBridge } from '../../support/fake-bridge.ts'
import { FakeBuilder } from '../../support/fake-builder.ts'
import { startWebhookServer } from '../../support/receive-webhooks.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { tarOf } from '../../support/tar-of.ts'
import { tamper } from '../../support/test-store.ts'

const posts = Object.entries<Route>(routes).filter(([, { method }]) => method === 'POST') as [RouteName, Route][]

/** A successful request of each route. */
interface Example {
  readonly json?: object
  readonly before?: (world: World) => Promise<unknown>
}

const examples: Partial<Record<RouteName, Example>> = {
  createRuntime: { json: { name: 'another' } },
  pauseRuntime: {},
  resumeRuntime: { before: ({ post }) => post('pause') },
  forkRuntime: { json: { count: 2 } },
  createSnapshot: { json: { name: 'before' } },
  startCommand: { json: { command: 'echo once' } },
  createCodeContext: { json: {} },
  runCode: { json: { code: 'print once' } },
  runCodeInContext: { json: { code: 'print once' } },
  interruptCodeContext: {},
  restartCodeContext: {},
  interruptCodeRun: {},
  writeStdin: { json: { data: 'x' } },
  sendSignal: { json: { signal: 'SIGUSR1' } },
  resizeTerminal: { json: { cols: 80, rows: 24 } },
  copyFile: { json: { source: '/tmp/a', destination: '/tmp/b' } },
  moveFile: { json: { source: '/tmp/a', destination: '/tmp/c' } },
  makeDirectory: { json: { path: '/tmp/made' } },
  removeFile: { json: { path: '/tmp/a' } },
  makeSymlink: { json: { path: '/tmp/link', target: 'a' } },
  changeMode: { json: { path: '/tmp/a', mode: '0600' } },
  changeOwner: { json: { path: '/tmp/a', user: 'root' } },
  searchFiles: { json: { path: '/tmp' } },
  replaceInFiles: { json: { path: '/tmp', pattern: 'one', replacement: 'two' } },
  rotatePort: {},
  testNetwork: { json: { host: 'api.example.com' } },
  createBuild: { json: { name: 'app', dockerfile: 'FROM scratch' } },
  checkDockerfile: { json: { dockerfile: 'FROM scratch' } },
  pullTemplate: { json: {} },
  createPolicy: { json: { name: 'web', include: ['npm'] } },
  createSecret: { json: { name: 'token', value: 'hunter22', hosts: ['api.example.com'] } },
  rotateSecretKey: {},
  createProvider: { json: { name: 'vault', type: 'static', value: 'hunter22' } },
  createKey: { json: { name: 'ci' } },
  rotateKey: { json: {} },
  createProject: { json: { name: 'team' } },
  createWebhook: { json: { url: 'https://hooks.example.com/other' } },
  rotateWebhookSecret: { json: {} },
  testWebhook: {},
  redeliver: {},
}

/**
 * The values that are made again after a lost answer. Ids and names are the same, and these differ.
 */
const differs = [
  ...['key', 'prefix', 'token', 'url', 'path_url', 'status', 'duration_ms'],
  ...['updated_at', 'created_at', 'started_at', 'ended_at', 'rotated_at', 'expires_at'],
  ...['tries', 'attempts', 'next_attempt_at'],
]

interface World {
  readonly server: TestServer
  readonly runtime: string
  readonly ids: Readonly<Record<string, string>>
  post(verb: string): Promise<unknown>
}

let agents: readonly AgentTemplate[] | null = null

/** A runtime with a file, a terminal, code, a key, and a webhook that received something. */
async function makeWorld(): Promise<World> {
  agents ??= await readAgentTemplates(join(import.meta.dirname, '../../../../../templates/agents'))
  const options = { builder: new FakeBuilder(), agentTemplates: agents.slice(0, 1) }
  const { server, receiver, path: webhook } = await startWebhookServer(options, { types: ['snapshot.deleted'] })
  const { ask } = server
  // Then a delivery that is sent again waits, and its state is the same later.
  receiver.answer = (_, response) => response.writeHead(500).end()
  const runtime_id = await server.makeRuntime()
  const runtime = `/v1/agents/runtime/${runtime_id}`
  await ask('PUT', `${runtime}/files/content?path=/tmp/a`, { body: 'one' })
  const command = { command: 'cat', background: true, stdin: true, pty: { cols: 100, rows: 30 } }
  const { command_id } = (await ask('POST', `${runtime}/commands`, { json: command })).json
  const { key_id } = await server.makeKey('runtime:read')
  const { webhook_id, delivery_id } = (await ask('POST', `${webhook}/test`)).json
  const template_id = agents[0]?.name ?? ''
  const interpreter = giveBridge(server.engine, runtime_id)
  const run_id = makeId('code_run')
  const { context_id } = interpreter.create()
  interpreter.start({ run_id, code: 'print x' })
  const ids = { runtime_id, command_id, context_id, run_id, key_id, port: '3000', template_id, webhook_id, delivery_id }
  return { server, runtime, ids, post: (verb) => ask('POST', `${runtime}/${verb}`) }
}

/** The routes that are tried elsewhere: an upload has no JSON, and hosts are changed in a fleet. */
const elsewhere: ReadonlySet<RouteName> = new Set([
  'uploadContext',
  'cordonHost',
  'uncordonHost',
  'drainHost',
  'loseHost',
  'forgetHost',
  'createJoinToken',
])

test('every POST has an example here', () => {
  const without = posts.map(([name]) => name).filter((name) => examples[name] === undefined && !elsewhere.has(name))
  expect(without).toEqual([])
})

test.each(posts.filter(([name]) => !elsewhere.has(name)))('%s is answered once', async (name, { path }) => {
  const { json, before } = examples[name] ?? {}
  const world = await makeWorld()
  const { server, ids } = world
  await before?.(world)
  const target = path.replaceAll(/\{(\w+)\}/g, (_, param: string) => ids[param] ?? '')
  const send = (to: TestServer) =>
    to.ask('POST', target, { headers: { 'idempotency-key': 'once' }, ...(json === undefined ? {} : { json }) })
  const first = await send(server)
  expect([first.status, first.text]).toEqual([expect.toSatisfy((status) => status < 300), expect.any(String)])
  const again = await send(server)
  expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([
    first.status,
    first.text,
    'true',
  ])
  const restarted = await server.restart()
  const later = await send(restarted)
  expect([later.status, later.text, later.headers.get('idempotent-replayed')]).toEqual([
    first.status,
    first.text,
    'true',
  ])
  const count = await things(restarted, ids)
  // As the end of the service leaves it between what was done and what is kept of the answer.
  await tamper(restarted.stateDir, "UPDATE idempotency SET status = NULL, body = NULL WHERE idempotency_key = 'once'")
  const lost = await send(restarted)
  expect([lost.status, essence(lost.json)]).toEqual([first.status, essence(first.json)])
  expect(await things(restarted, ids)).toEqual(count)
})

/** How many things of each kind there are. */
async function things({ ask }: TestServer, { webhook_id }: World['ids']): Promise<object> {
  const kinds = [
    'runtime',
    'snapshot',
    'template/build',
    'network-policy',
    'secret',
    'identity-provider',
    'key',
    'project',
    'webhook',
    `webhook/${webhook_id}/deliveries`,
  ]
  const lists = kinds.map(async (kind) => [kind, (await ask('GET', `/v1/agents/${kind}?limit=100`)).json.data.length])
  return Object.fromEntries(await Promise.all(lists))
}

/** An answer without what is of the moment. */
function essence(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json ?? null, (name, value) => (differs.includes(name) ? undefined : value)))
}

/** An engine whose guests do what they are asked for, and whose next answer is lost. */
class LossyEngine extends FakeEngine {
  losing = false

  override async dial(id: string, signal: AbortSignal): Promise<GuestLink> {
    const link = await super.dial(id, signal)
    const request = async (asked: GuestRequest) => {
      const response = await link.request(asked)
      if (!this.losing || asked.headers?.['x-holt-operation'] === undefined) return response
      this.losing = false
      response.body.destroy()
      throw new EngineError('unavailable', 'the connection to the guest broke')
    }
    return {
      request,
      get connected() {
        return link.connected
      },
    }
  }
}

test('the guest does not repeat work whose answer was lost', async () => {
  const engine = new LossyEngine()
  const server = await startTestServer({ engine })
  const files = `/v1/agents/runtime/${await server.makeRuntime()}/files`
  await server.ask('PUT', `${files}/content?path=/tmp/a`, { body: 'one' })
  const json = { source: '/tmp/a', destination: '/tmp/b' }
  const move = (headers = {}) => server.ask('POST', `${files}/move`, { json, headers })
  const headers = { 'idempotency-key': 'once' }
  engine.losing = true
  expect((await move(headers)).status).toBe(503)
  const again = await move(headers)
  expect([again.status, again.json.success]).toEqual([200, true])
  expect((await move(headers)).headers.get('idempotent-replayed')).toBe('true')
  expect((await move()).json.error.code).toBe('path_not_found')
})

test('of 100 requests at once with one key one runs, and the others get an error or its answer', async () => {
  const server = await startTestServer()
  const send = () =>
    server.ask('POST', '/v1/agents/runtime', { json: { name: 'one' }, headers: { 'idempotency-key': 'k1' } })
  const answers = await Promise.all(Array.from({ length: 100 }, send))
  const made = answers.filter(({ status }) => status === 201)
  const others = answers.filter(({ status }) => status !== 201)
  expect(made.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
  expect(new Set(made.map(({ text }) => text)).size).toBe(1)
  expect(new Set(others.map(({ json }) => json.error.code))).toEqual(new Set(['idempotency_in_progress']))
  expect((await server.ask('GET', '/v1/agents/runtime')).json.data).toHaveLength(1)
})

test('of 100 requests at once with different bodies one runs, and the others are refused', async () => {
  const server = await startTestServer()
  const send = (index: number) =>
    server.ask('POST', '/v1/agents/runtime', { json: { name: `r${index}` }, headers: { 'idempotency-key': 'k1' } })
  const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => send(index)))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  const codes = answers.flatMap(({ json }) => json.error?.code ?? [])
  expect(new Set(codes)).toEqual(new Set(['idempotency_mismatch']))
})

test('an upload with a key runs once, and other bytes under its key are refused', async () => {
  const server = await startTestServer({ builder: new FakeBuilder() })
  const [one, other] = [await tarOf({ a: 'one' }), await tarOf({ a: 'other, and longer than the one' })]
  const send = (to: TestServer, body: Uint8Array) =>
    to.ask('POST', '/v1/agents/template/context', { body, headers: { 'idempotency-key': 'k1' } })
  const first = await send(server, one)
  expect(first.status).toBe(201)
  const again = await send(server, one)
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
  expect((await send(server, other)).json.error.code).toBe('idempotency_mismatch')
  expect((await send(server, one.subarray(0, one.length - 512))).json.error.code).toBe('idempotency_mismatch')
  const restarted = await server.restart()
  expect((await send(restarted, one)).text).toBe(first.text)
  const at = Array.from({ length: 20 }, () => send(restarted, one))
  for (const { status, json, text } of await Promise.all(at))
    expect(status === 201 ? text : json.error.code).toBe(status === 201 ? first.text : 'idempotency_in_progress')
})
