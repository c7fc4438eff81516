import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { type E2bServer, startE2bServer } from '../../support/e2b-server.ts'

async function create(server: E2bServer, body: object = {}) {
  const { status, json } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base', ...body } })
  expect([status, json.code]).toEqual([201, undefined])
  return json
}

const envd = ({ sandboxID }: { sandboxID: string }) => ({ 'E2b-Sandbox-Id': sandboxID, 'E2b-Sandbox-Port': '49983' })
const secondsUntil = (time: string) => Math.round((Date.parse(time) - Date.now()) / 1000)

test('a create answers what clients need, and makes a runtime that ends after its timeout', async () => {
  const server = await startE2bServer()
  const made = await create(server, {
    metadata: { 'a b': 'ü' },
    envVars: { X: '1' },
    unknown_field: true,
    allow_internet_access: null,
  })
  expect(made).toEqual({
    sandboxID: expect.stringMatching(/^rt[a-z0-9]{20}$/),
    templateID: expect.stringMatching(/^tm/),
    clientID: 'holt',
    envdVersion: expect.stringMatching(/^0\.\d+\.\d+$/),
    alias: 'base-small',
    envdAccessToken: expect.stringMatching(/^[0-9a-f]{64}$/),
    trafficAccessToken: null,
    domain: null,
  })
  const runtime = (await server.ask('GET', `/v1/agents/runtime/${made.sandboxID}`)).json
  expect(runtime).toMatchObject({
    state: 'running',
    timeout_secs: 300,
    on_timeout: 'terminate',
    auto_resume: false,
    idle_timeout_secs: null,
    network_policy: null,
    metadata: { 'a b': 'ü' },
    env: { X: '1' },
  })
})

test('old clients get a short life where they name none', async () => {
  const server = await startE2bServer({ HOLT_E2B_DEFAULT_TIMEOUT: '60' })
  const life = async (path: string) => {
    const { json } = await server.e2b('POST', path, { json: { templateID: 'base', secure: true } })
    return (await server.ask('GET', `/v1/agents/runtime/${json.sandboxID}`)).json.timeout_secs
  }
  expect(await life('/v2/sandboxes')).toBe(60)
  expect(await life('/sandboxes')).toBe(15)
})

test.each<[string, object, number]>([
  ['a timeout of nothing', { timeout: 0 }, 400],
  ['a timeout beyond the longest', { timeout: 2_592_001 }, 400],
  ['a timeout that is no number', { timeout: '300' }, 400],
  ['an unknown template', { templateID: 'nope' }, 404],
  ['a template of nobody', { templateID: 'mcp-gateway' }, 404],
  ['no template', { templateID: undefined }, 400],
  ['a resume without a pause', { autoResume: { enabled: true } }, 400],
  [
    'a resume by requests of files alone',
    { autoPause: true, autoPauseMemory: false, autoResume: { enabled: true } },
    400,
  ],
  ['a volume', { volumeMounts: [{ name: 'a', path: '/a' }] }, 400],
  ['an identity', { iam: { tokens: { aws: { audience: 'sts', tokenType: 'JWT-SVID' } } } }, 400],
  ['a proxy', { network: { egressProxy: { address: 'a:1' } } }, 400],
  ['a header at the gateway', { network: { rules: { 'a.b': [] } } }, 400],
  ['a wrong variable', { envVars: { 'A=B': '1' } }, 400],
])('a create with %s is refused', async (_, body, status) => {
  const server = await startE2bServer()
  const answer = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base', ...body } })
  expect([answer.status, answer.json.code, typeof answer.json.message]).toEqual([status, status, 'string'])
  expect((await server.ask('GET', '/v1/agents/runtime')).json.data).toEqual([])
})

test('a host without checkpoints pauses the files alone at the end of a life', async () => {
  const isolation = {
    gvisor: { available: false, reason: 'none', fix: null },
    container: { available: true, runner: 'fake', canCheckpoint: false },
  } as const
  const server = await startE2bServer(
    { HOLT_ISOLATION: 'container' },
    { engine: new FakeEngine({ facts: { isolation } }) },
  )
  const create = (body: object) =>
    server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base', autoPause: true, ...body } })
  expect((await create({})).status).toBe(400)
  const { status, json } = await create({ autoPauseMemory: false })
  expect(status).toBe(201)
  const path = `/sandboxes/${json.sandboxID}`
  expect((await server.e2b('POST', `${path}/timeout`, { json: { timeout: 0 } })).status).toBe(204)
  await expect.poll(async () => (await server.e2b('GET', path)).json.state, { timeout: 20_000 }).toBe('paused')
  expect((await server.e2b('POST', `/v2${path}/connect`, { json: { timeout: 60 } })).status).toBe(201)
})

test('the error of a timeout names the field and the limit in hours', async () => {
  const server = await startE2bServer()
  const { json } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base', timeout: 9e9 } })
  expect(json.message).toBe('timeout must be at most 720 hours')
})

test('a sandbox is killed once', async () => {
  const server = await startE2bServer()
  const made = await create(server)
  const kill = () => server.e2b('DELETE', `/sandboxes/${made.sandboxID}`)
  expect(await kill()).toMatchObject({ status: 204, text: '' })
  expect(await kill()).toMatchObject({ status: 404, json: { code: 404 } })
  expect((await server.e2b('GET', `/sandboxes/${made.sandboxID}`)).status).toBe(404)
  expect((await server.e2b('GET', '/health', { headers: envd(made) })).status).toBe(502)
})

test('a JSON type without a body is accepted', async () => {
  const server = await startE2bServer()
  const { sandboxID } = await create(server)
  const headers = { 'content-type': 'application/json' }
  expect((await server.e2b('GET', `/sandboxes/${sandboxID}`, { headers })).status).toBe(200)
  expect((await server.e2b('DELETE', `/sandboxes/${sandboxID}`, { headers })).status).toBe(204)
})

test('a timeout counts from now, and may shorten', async () => {
  const server = await startE2bServer()
  const { sandboxID } = await create(server)
  const end = async () => secondsUntil((await server.e2b('GET', `/sandboxes/${sandboxID}`)).json.endAt)
  const set = (timeout: number) => server.e2b('POST', `/sandboxes/${sandboxID}/timeout`, { json: { timeout } })
  expect(await set(1000)).toMatchObject({ status: 204 })
  expect(await end()).toBeGreaterThan(900)
  expect((await server.e2b('POST', `/sandboxes/${sandboxID}/refreshes`, { json: { duration: 60 } })).status).toBe(204)
  expect(await end()).toBeGreaterThan(900)
  expect(await set(100)).toMatchObject({ status: 204 })
  expect(await end()).toBeLessThanOrEqual(100)
  expect((await set(0)).status).toBe(204)
  expect(await end()).toBeLessThanOrEqual(0)
})

test('a connect keeps a longer life', async () => {
  const server = await startE2bServer()
  const made = await create(server, { timeout: 1000 })
  const path = `/v2/sandboxes/${made.sandboxID}/connect`
  expect(await server.e2b('POST', path, { json: { timeout: 10 } })).toMatchObject({ status: 200, json: made })
  expect(await server.e2b('POST', path)).toMatchObject({ status: 200 })
  const { json } = await server.e2b('GET', `/sandboxes/${made.sandboxID}`)
  expect(secondsUntil(json.endAt)).toBeGreaterThan(900)
  expect((await server.e2b('POST', path, { json: { timeout: 0 } })).status).toBe(400)
})

test('a paused sandbox is gone for its data plane until a connect', async () => {
  const server = await startE2bServer()
  const made = await create(server)
  const { sandboxID } = made
  const health = async () => (await server.e2b('GET', '/health', { headers: envd(made) })).status
  expect(await health()).toBe(204)
  const pause = (json?: object) =>
    server.e2b('POST', `/sandboxes/${sandboxID}/pause`, json === undefined ? {} : { json })
  expect(await pause({ memory: true, requireHealthyGuest: true })).toMatchObject({ status: 204, text: '' })
  expect(await pause()).toMatchObject({ status: 409, json: { code: 409 } })
  expect(await health()).toBe(502)
  expect((await server.e2b('GET', `/sandboxes/${sandboxID}`)).json.state).toBe('paused')
  expect((await server.e2b('POST', `/sandboxes/${sandboxID}/timeout`, { json: { timeout: 5 } })).status).toBe(404)
  const connected = await server.e2b('POST', `/sandboxes/${sandboxID}/connect`, { json: { timeout: 1000 } })
  expect(connected).toMatchObject({ status: 201, json: { sandboxID, envdAccessToken: made.envdAccessToken } })
  expect(await health()).toBe(204)
  const { json } = await server.e2b('GET', `/sandboxes/${sandboxID}`)
  expect([json.state, secondsUntil(json.endAt) > 900]).toEqual(['running', true])
})

test('old clients resume a paused sandbox, and are told of a running one', async () => {
  const server = await startE2bServer()
  const { sandboxID } = await create(server)
  const resume = () => server.e2b('POST', `/sandboxes/${sandboxID}/resume`, { json: { timeout: 60, autoPause: false } })
  expect((await resume()).status).toBe(409)
  await server.e2b('POST', `/sandboxes/${sandboxID}/pause`)
  expect((await resume()).status).toBe(201)
  const { lifecycle } = (await server.e2b('GET', `/sandboxes/${sandboxID}`)).json
  expect(lifecycle).toEqual({ onTimeout: 'kill', autoResume: false })
})

test('a resume may say what happens at the next end', async () => {
  const server = await startE2bServer()
  const { sandboxID } = await create(server)
  await server.e2b('POST', `/sandboxes/${sandboxID}/pause`)
  await server.e2b('POST', `/sandboxes/${sandboxID}/resume`, { json: { autoPause: true } })
  expect((await server.e2b('GET', `/sandboxes/${sandboxID}`)).json.lifecycle.onTimeout).toBe('pause')
})

test('any request resumes a sandbox that asked for it', async () => {
  const server = await startE2bServer()
  const made = await create(server, { autoPause: true, autoResume: { enabled: true } })
  expect((await server.e2b('GET', `/sandboxes/${made.sandboxID}`)).json.lifecycle).toEqual({
    onTimeout: 'pause',
    autoResume: true,
  })
  await server.e2b('POST', `/sandboxes/${made.sandboxID}/pause`)
  expect((await server.e2b('GET', '/health', { headers: envd(made) })).status).toBe(204)
  expect((await server.e2b('GET', `/sandboxes/${made.sandboxID}`)).json.state).toBe('running')
})

test('a sandbox of Holt itself is found, and its ports stay private', async () => {
  const server = await startE2bServer()
  const id = await server.makeRuntime({ timeout_secs: null })
  const { status, json } = await server.e2b('POST', `/v2/sandboxes/${id}/connect`, { json: { timeout: 60 } })
  // No token opens its ports, so that a client gets none.
  expect([status, json.sandboxID, json.trafficAccessToken]).toEqual([200, id, null])
  expect((await server.e2b('GET', `/sandboxes/${id}`)).json.endAt).toBe('9999-12-31T23:59:59.000Z')
})

test.each(['nope', 'constructor', '__proto__'])('a template named %s is not found', async (templateID) => {
  const server = await startE2bServer()
  const { status, json } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID } })
  expect([status, json.message]).toEqual([404, `template '${templateID}' not found`])
})

test('the same Idempotency-Key makes one sandbox', async () => {
  const server = await startE2bServer()
  const ask = (json: object) => server.e2b('POST', '/v2/sandboxes', { json, headers: { 'idempotency-key': 'once' } })
  const [first, again] = [await ask({ templateID: 'base' }), await ask({ templateID: 'base' })]
  expect([first.status, again.status, again.json]).toEqual([201, 201, first.json])
  expect((await ask({ templateID: 'base', timeout: 5 })).status).toBe(422)
})

test.each([
  ['off', 401],
  ['on', 200],
])('a revoked key takes the tokens of its sandboxes along, unless they are kept: %s', async (kept, expected) => {
  const server = await startE2bServer({ HOLT_E2B_KEEP_TOKENS: kept })
  const { key, key_id } = await server.makeKey('runtime:write', 'runtime:read')
  const made = (await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' }, key })).json
  const open = async () => {
    const headers = { ...envd(made), 'x-access-token': made.envdAccessToken }
    return (await server.e2b('GET', '/envs', { headers })).status
  }
  expect(await open()).not.toBe(401)
  await server.ask('DELETE', `/v1/agents/key/${key_id}`)
  expect((await open()) === 401).toBe(expected === 401)
})

const hourMs = 3_600_000

test.each<[string, (server: E2bServer, keyId: string, clock: { ahead: number }) => Promise<unknown>]>([
  ['expires', async (_, __, clock) => Object.assign(clock, { ahead: 2 * hourMs })],
  [
    'is rotated at once',
    (server, id) => server.ask('POST', `/v1/agents/key/${id}/rotate`, { json: { overlap_secs: 0 } }),
  ],
  [
    'is rotated, when its former secret ends',
    async (server, id, clock) => {
      await server.ask('POST', `/v1/agents/key/${id}/rotate`, { json: { overlap_secs: 60 } })
      clock.ahead = 61_000
    },
  ],
])('the token of a sandbox ends when its key %s', async (_, end) => {
  const clock = { ahead: 0 }
  const server = await startE2bServer({}, { now: () => Date.now() + clock.ahead })
  const expires_at = new Date(Date.now() + hourMs).toISOString()
  const scopes = ['runtime:write', 'runtime:read']
  const { key, key_id } = (await server.ask('POST', '/v1/agents/key', { json: { name: 'test', scopes, expires_at } }))
    .json
  const create = { templateID: 'base', timeout: 86_400 }
  const made = (await server.e2b('POST', '/v2/sandboxes', { json: create, key })).json
  const others = (await server.e2b('POST', '/v2/sandboxes', { json: create })).json
  const open = async ({ sandboxID, envdAccessToken }: typeof made) => {
    const headers = { ...envd({ sandboxID }), 'x-access-token': envdAccessToken }
    return (await server.e2b('GET', '/envs', { headers })).status
  }
  expect([await open(made), await open(others)]).toEqual([200, 200])
  await end(server, key_id, clock)
  await expect.poll(() => open(made), { timeout: 10_000 }).toBe(401)
  expect(await open(others)).toBe(200)
  // The new token stays: the end counts once.
  const again = (await server.e2b('POST', `/sandboxes/${made.sandboxID}/connect`, { json: { timeout: 60 } })).json
  await new Promise((resolve) => setTimeout(resolve, 1500))
  expect(await open(again)).toBe(200)
})
