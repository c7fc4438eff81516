import { hopByHopHeaders } from '@holt/protocol'
import { expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { storedBytes } from '../../support/test-store.ts'

const path = '/v1/agents/secret'
const value = 'hunter22-hunter22'
const stripe = { name: 'stripe', value, hosts: ['api.stripe.com'] }
const create = ({ ask }: TestServer, json: object, headers: Record<string, string> = {}) =>
  ask('POST', path, { json, headers })

test('no answer, event, log line or database byte contains a value', async () => {
  const server = await startTestServer()
  const { ask, logged, stateDir } = server
  const answers = [
    await create(server, stripe, { 'idempotency-key': 'k1' }),
    await create(server, stripe, { 'idempotency-key': 'k1' }),
    await create(server, stripe),
    await create(server, { ...stripe, name: 'broken', hosts: ['not a host'] }),
    await ask('POST', '/v1/agents/identity-provider', { json: { name: 'p', type: 'static', value } }),
    await ask('PUT', '/v1/agents/identity-provider/p', { json: { type: 'static', value } }),
    await ask('PUT', '/v1/agents/identity-provider/p', { json: { type: 'workload', value } }),
    await ask('PUT', `${path}/stripe`, { json: { value } }),
    await ask('PUT', `${path}/stripe`, { json: { value, provider: 'p' } }),
    await ask('GET', path),
    await ask('GET', `${path}/stripe`),
  ]
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 409, 400, 201, 200, 400, 200, 400, 200, 200])
  for (const { text } of answers) expect(text).not.toContain('hunter22')
  const runtimeId = await server.makeRuntime({
    network_policy: { allow: [{ host: 'api.stripe.com' }] },
    secrets: ['stripe'],
  })
  expect(JSON.stringify(server.engine.guest(runtimeId)?.identity)).not.toContain('hunter22')
  await server.server.close()
  const bytes = await storedBytes(stateDir)
  expect(bytes.includes('stripe')).toBe(true)
  expect(bytes.includes('hunter22')).toBe(false)
  expect(bytes.includes(Buffer.from(value).toString('base64').slice(0, 20))).toBe(false)
  expect(JSON.stringify(logged)).not.toContain('hunter22')
})

test('a repeated create with the same Idempotency-Key answers the same secret', async () => {
  const server = await startTestServer()
  const first = await create(server, stripe, { 'idempotency-key': 'k1' })
  const second = await create(server, stripe, { 'idempotency-key': 'k1' })
  expect([second.text, second.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
  const other = await create(server, { ...stripe, value: 'another' }, { 'idempotency-key': 'k1' })
  expect(other.json.error.code).toBe('idempotency_mismatch')
})

test.each([
  ['anthropic', ['api.anthropic.com'], 'x-api-key', '{value}', 'ANTHROPIC_API_KEY'],
  ['openai', ['api.openai.com'], 'authorization', 'Bearer {value}', 'OPENAI_API_KEY'],
  ['google', ['generativelanguage.googleapis.com'], 'x-goog-api-key', '{value}', 'GEMINI_API_KEY'],
])('a secret named %s needs only its value', async (name, hosts, header, format, env_name) => {
  const server = await startTestServer()
  expect((await create(server, { name, value })).json).toMatchObject({
    hosts,
    header,
    format,
    env_name,
    env: false,
    version: 1,
  })
})

test('default settings of a secret depend on its header', async () => {
  const server = await startTestServer()
  expect((await create(server, { ...stripe, name: 'stripe-live' })).json).toMatchObject({
    header: 'authorization',
    format: 'Bearer {value}',
    env_name: 'STRIPE_LIVE',
  })
  expect((await create(server, { ...stripe, header: 'X-Key' })).json).toMatchObject({
    header: 'x-key',
    format: '{value}',
  })
  const openai = { name: 'openai', value, header: 'x-key' }
  expect((await create(server, openai)).json).toMatchObject({ hosts: ['api.openai.com'], format: '{value}' })
})

test.each<[object, string]>([
  [{ ...stripe, hosts: undefined }, '/hosts'],
  [{ ...stripe, hosts: [] }, '/hosts'],
  [{ ...stripe, hosts: ['*'] }, '/hosts/0'],
  [{ ...stripe, hosts: ['10.0.0.0/8'] }, '/hosts/0'],
  [{ ...stripe, hosts: ['api.stripe.com\0.example.com'] }, '/hosts/0'],
  [{ ...stripe, header: 'host' }, '/header'],
  ...hopByHopHeaders.map((header): [object, string] => [{ ...stripe, header }, '/header']),
  [{ ...stripe, header: 'a: b\r\nc' }, '/header'],
  [{ ...stripe, format: 'Bearer' }, '/format'],
  [{ ...stripe, format: '{value}{value}' }, '/format'],
  [{ ...stripe, format: 'a\r\nb: {value}' }, '/format'],
  [{ ...stripe, value: 'a\nb' }, '/value'],
  [{ ...stripe, value: '' }, '/value'],
  [{ ...stripe, value: 'x'.repeat(8193) }, '/value'],
  [{ ...stripe, value: undefined }, '/value'],
  [{ ...stripe, provider: 'p' }, '/value'],
  [{ ...stripe, env: true }, '/hosts'],
  [{ ...stripe, env_name: 'A-B' }, '/env_name'],
  [{ ...stripe, name: `se${'a'.repeat(20)}` }, '/name'],
])('%j is refused at %s', async (json, pointer) => {
  const { json: answer, status } = await create(await startTestServer(), json)
  expect([status, answer.error.details.issues.map((issue: { pointer: string }) => issue.pointer)]).toEqual([
    400,
    expect.arrayContaining([pointer]),
  ])
})

test('a new version and a deletion apply to the next request', async () => {
  const server = await startTestServer()
  const { ask, gateway } = server
  await create(server, stripe)
  const runtimeId = await server.makeRuntime({
    network_policy: { allow: [{ host: '*.stripe.com' }] },
    secrets: ['stripe'],
  })
  const attached = () => gateway.of(runtimeId)?.options.secrets ?? []
  const [first] = attached()
  expect(await first?.value()).toEqual({ value, version: 1 })
  await ask('PUT', `${path}/stripe`, { json: { value: 'second', hosts: ['files.stripe.com'] } })
  expect(await first?.value()).toEqual({ value: 'second', version: 2 })
  expect(attached()).toMatchObject([{ hosts: ['files.stripe.com'], placeholder: first?.placeholder }])
  await ask('DELETE', `${path}/stripe`)
  expect(await first?.value()).toBeNull()
  expect(attached()).toMatchObject([{ placeholder: first?.placeholder }]) // still known, so that it is refused
  expect((await ask('GET', `/v1/agents/runtime/${runtimeId}/network`)).json.secrets).toMatchObject([
    { available: false },
  ])
  await create(server, { ...stripe, value: 'of another secret of that name' })
  expect(await first?.value()).toBeNull()
  const [again] = (await server.restart()).gateway.of(runtimeId)?.options.secrets ?? []
  expect([again?.placeholder, await again?.value()]).toEqual([first?.placeholder, null])
})

test('a new version keeps absent fields, and cannot change to env', async () => {
  const server = await startTestServer()
  const { ask } = server
  await create(server, { ...stripe, header: 'x-key', format: 'Key {value}' })
  const put = (json: object) => ask('PUT', `${path}/stripe`, { json })
  expect((await put({ hosts: ['b.stripe.com'] })).json).toMatchObject({
    version: 2,
    header: 'x-key',
    format: 'Key {value}',
  })
  expect((await put({ header: 'authorization' })).json).toMatchObject({ format: 'Bearer {value}' })
  expect((await put({ env: true, value })).json.error.code).toBe('conflict')
  expect((await put({ env_name: 'OTHER', value })).json.error.code).toBe('conflict')
  expect((await put({})).json.error.details.issues[0].pointer).toBe('/value')
  expect((await put({ env: false, env_name: 'STRIPE', value })).json.version).toBe(4)
})

test('a secret with env is in the environment, and the runtime says so', async () => {
  const server = await startTestServer()
  const { ask, engine } = server
  await create(server, { name: 'license', value, env: true, env_name: 'LICENSE_KEY' })
  const { json } = await ask('POST', '/v1/agents/runtime', { json: { secrets: ['license'] } })
  expect(json).toMatchObject({ secrets: ['license'], secrets_inside: true, network_policy: null, env: {} })
  expect(engine.guest(json.runtime_id)?.identity?.env).toMatchObject({ LICENSE_KEY: value })
  expect((await ask('PUT', `${path}/license`, { json: { hosts: ['a.example.com'] } })).json.error.code).toBe(
    'invalid_request',
  )
  const plain = await ask('GET', `/v1/agents/runtime/${await server.makeRuntime()}`)
  expect(plain.json).toMatchObject({ secrets: [], secrets_inside: false })
})

test('a provider can serve several secrets, and a change applies to all of them', async () => {
  const server = await startTestServer()
  const { ask, gateway } = server
  const providers = '/v1/agents/identity-provider'
  await ask('POST', providers, { json: { name: 'shared', type: 'static', value: 'one' } })
  await create(server, { name: 'a', provider: 'shared', hosts: ['a.example.com'] })
  await create(server, { name: 'b', provider: 'shared', hosts: ['b.example.com'] })
  const runtimeId = await server.makeRuntime({
    network_policy: { allow: [{ host: '*.example.com' }] },
    secrets: ['a', 'b'],
  })
  const values = () =>
    Promise.all(gateway.of(runtimeId)?.options.secrets.map(async (secret) => (await secret.value())?.value) ?? [])
  expect(await values()).toEqual(['one', 'one'])
  await ask('PUT', `${providers}/shared`, { json: { type: 'static', value: 'two' } })
  expect(await values()).toEqual(['two', 'two'])
  const refused = (await ask('DELETE', `${providers}/shared`)).json.error
  expect([refused.code, refused.details.secrets]).toEqual(['in_use', ['a', 'b']])
  await ask('PUT', `${path}/a`, { json: { value: 'its own' } })
  expect(await values()).toEqual(['its own', 'two'])
  await ask('DELETE', `${path}/b`)
  expect((await ask('DELETE', `${providers}/shared`)).status).toBe(204)
})

test.each([
  { type: 'oauth2', token_url: 'https://login.example.com/token', client_id: 'holt', client_secret: 'x' },
  { type: 'workload', audience: 'x' },
])('a value of $type expires, so it cannot be in the environment', async (provider) => {
  const server = await startTestServer()
  await server.ask('POST', '/v1/agents/identity-provider', { json: { name: 'p', ...provider } })
  const { error } = (await create(server, { name: 'a', provider: 'p', env: true })).json
  expect(error.details.issues[0].pointer).toBe('/provider')
})

test.each([
  'http://login.example.com/token',
  'https://user:pass@login.example.com/token',
  'https://login.example.com/token#x',
  'login.example.com',
])('%s is refused as a token address', async (token_url) => {
  const { ask } = await startTestServer()
  const json = { name: 'p', type: 'oauth2', token_url, client_id: 'holt', client_secret: 'x' }
  expect((await ask('POST', '/v1/agents/identity-provider', { json })).json.error.details.issues[0].pointer).toBe(
    '/token_url',
  )
})
