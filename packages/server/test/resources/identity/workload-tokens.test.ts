import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { tamper } from '../../support/test-store.ts'

const day = 24 * 3600 * 1000
const runtimes = '/v1/agents/runtime'

/** A server whose runtimes have a token of the service for an audience. */
async function withProvider(settings: object, options: Parameters<typeof startTestServer>[0] = {}) {
  const server = await startTestServer(options)
  const provider = { name: 'cloud', type: 'workload', audience: 'sts.example.com', ...settings }
  await server.ask('POST', '/v1/agents/identity-provider', { json: provider })
  await server.ask('POST', '/v1/agents/secret', {
    json: { name: 'cloud', provider: 'cloud', hosts: ['api.example.com'] },
  })
  const runtimeId = await server.makeRuntime({
    network_policy: { allow: [{ host: 'api.example.com' }] },
    secrets: ['cloud'],
  })
  return { ...server, runtimeId }
}

const tokenOf = async ({ gateway }: Pick<TestServer, 'gateway'>, runtimeId: string) =>
  (await gateway.of(runtimeId)?.options.secrets[0]?.value())?.value ?? ''

test.each(['RS256', 'ES256', 'EdDSA'])(
  'a %s token can be verified with the public documents, without a key',
  async (algorithm) => {
    const server = await withProvider({ algorithm, ttl_secs: 60 })
    const { ask, runtimeId } = server
    const found = await ask('GET', '/.well-known/openid-configuration', { key: null })
    expect(found.json).toMatchObject({
      issuer: server.server.url,
      jwks_uri: `${server.server.url}/.well-known/jwks.json`,
    })
    const jwks = createRemoteJWKSet(new URL(found.json.jwks_uri))
    const { payload, protectedHeader } = await jwtVerify(await tokenOf(server, runtimeId), jwks, {
      issuer: found.json.issuer,
      audience: 'sts.example.com',
      algorithms: [algorithm],
    })
    const { project_id } = payload as { project_id: string }
    expect(payload).toMatchObject({ sub: `project/${project_id}/runtime/${runtimeId}`, runtime_id: runtimeId })
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(60)
    expect(protectedHeader).toMatchObject({ alg: algorithm, kid: expect.any(String) })
  },
)

test('the public documents have no private data', async () => {
  const server = await withProvider({})
  await tokenOf(server, server.runtimeId)
  const { keys } = (await server.ask('GET', '/.well-known/jwks.json', { key: null })).json
  expect(keys).toHaveLength(1)
  for (const field of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) expect(keys[0]).not.toHaveProperty(field)
})

test.each([
  `UPDATE sealed_values SET sealed = 'AAAA' WHERE purpose = 'signing key'`,
  `UPDATE signing_keys SET public_jwk_json = '{"half'`,
])('a damaged signing key is replaced: %s', async (damage) => {
  const server = await withProvider({})
  const before = decodeProtectedHeader(await tokenOf(server, server.runtimeId))
  await server.close()
  await tamper(server.stateDir, damage)
  const next = await server.restart()
  const token = await tokenOf(next, server.runtimeId)
  expect(decodeProtectedHeader(token).kid).not.toBe(before.kid)
  expect(next.logged.map(({ message }) => message)).toContain(
    'a signing key cannot be unsealed; a new one signs from now on',
  )
  await jwtVerify(token, createRemoteJWKSet(new URL(`${next.server.url}/.well-known/jwks.json`)))
})

test('each runtime has its own tokens, cached for half of their lifetime', async () => {
  const clock = { at: Date.now() }
  const server = await withProvider({ ttl_secs: 600 }, { now: () => clock.at })
  const other = await server.makeRuntime({
    network_policy: { allow: [{ host: 'api.example.com' }] },
    secrets: ['cloud'],
  })
  const first = await tokenOf(server, server.runtimeId)
  expect(decodeJwt(await tokenOf(server, other)).sub).not.toBe(decodeJwt(first).sub)
  clock.at += 299_000
  expect(await tokenOf(server, server.runtimeId)).toBe(first)
  clock.at += 2_000
  expect(decodeJwt(await tokenOf(server, server.runtimeId)).jti).not.toBe(decodeJwt(first).jti)
})

test('a key survives a restart, is rotated after a month, and is published a day longer', async () => {
  const clock = { at: Date.now() }
  const server = await withProvider({}, { now: () => clock.at })
  const kidOf = async (from: Pick<TestServer, 'gateway'>) =>
    decodeProtectedHeader(await tokenOf(from, server.runtimeId)).kid
  const kids = async (from: TestServer) =>
    (await from.ask('GET', '/.well-known/jwks.json')).json.keys.map((key: { kid: string }) => key.kid)
  const first = await kidOf(server)
  const again = await server.restart()
  expect(await kidOf(again)).toBe(first)
  clock.at += 30 * day
  const second = await kidOf(again)
  expect(second).not.toBe(first)
  expect(await kids(again)).toEqual([second, first])
  clock.at += day
  expect(await kids(again)).toEqual([second])
})

test('the issuer is the setting of the operator, if there is one', async () => {
  const server = await startTestServer({ config: { issuer: 'https://holt.example.com' } as never })
  const { json } = await server.ask('GET', '/.well-known/openid-configuration', { key: null })
  expect(json).toMatchObject({
    issuer: 'https://holt.example.com',
    jwks_uri: 'https://holt.example.com/.well-known/jwks.json',
  })
})

test.each([{ ttl_secs: 601 }, { ttl_secs: 10 }, { algorithm: 'HS256' }, { algorithm: 'none' }, { audience: '' }])(
  'a provider with %j is refused',
  async (settings) => {
    const { ask } = await startTestServer()
    const json = { name: 'cloud', type: 'workload', audience: 'x', ...settings }
    expect((await ask('POST', '/v1/agents/identity-provider', { json })).status).toBe(400)
  },
)

test('runtimes end with their tokens', async () => {
  const server = await withProvider({})
  const secret = server.gateway.of(server.runtimeId)?.options.secrets[0]
  await server.ask('DELETE', `${runtimes}/${server.runtimeId}`)
  expect(server.gateway.of(server.runtimeId)).toBeNull()
  await server.ask('DELETE', '/v1/agents/secret/cloud')
  expect(await secret?.value()).toBeNull()
})
