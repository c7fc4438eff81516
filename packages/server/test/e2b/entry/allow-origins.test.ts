import { expect, test } from 'vitest'
import { parseConfig } from '../../../src/index.ts'
import { startE2bServer } from '../../support/e2b-server.ts'

const app = 'https://app.example.com'
const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-api-key,x-new' }

test('pages of named origins use the control plane, commands and files, and no others', async () => {
  const server = await startE2bServer({ HOLT_E2B_ORIGINS: `${app}, http://localhost:5173` })
  const { sandboxID, envdAccessToken } = (await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } }))
    .json
  const named = { 'e2b-sandbox-id': sandboxID, 'e2b-sandbox-port': '49983' }
  const allowed = async (method: string, path: string, headers: Record<string, string>) => {
    const answer = await server.e2b(method, path, { headers, key: null })
    return [
      answer.status,
      answer.headers['access-control-allow-origin'],
      answer.headers['access-control-allow-headers'],
    ]
  }
  const headers = expect.stringMatching(/X-Access-Token.*x-api-key,x-new/)
  expect(await allowed('OPTIONS', '/v2/sandboxes', { origin: app, ...preflight })).toEqual([204, app, headers])
  expect(await allowed('OPTIONS', '/files', { origin: app, ...preflight, ...named })).toEqual([204, app, headers])
  const token = { ...named, 'x-access-token': envdAccessToken }
  expect(await allowed('GET', '/envs', { origin: app, ...token })).toEqual([200, app, undefined])
  // An error is readable, too, and needs a key as before.
  expect(await allowed('GET', '/v2/sandboxes', { origin: app })).toEqual([401, app, undefined])
  for (const origin of ['https://app.example.com.evil.test', 'http://app.example.com', 'null', `${app}:8443`])
    for (const [method, path, more] of [
      ['OPTIONS', '/v2/sandboxes', preflight],
      ['OPTIONS', '/files', { ...preflight, ...named }],
      ['GET', '/envs', token],
    ] as const)
      expect([origin, (await allowed(method, path, { origin, ...more }))[1]]).toEqual([origin, undefined])
  // Holt's own API, and the ports of programs, are not concerned.
  expect((await allowed('GET', '/v1/agents/runtime', { origin: app }))[1]).toBeUndefined()
  const port = { 'e2b-sandbox-id': sandboxID, 'e2b-sandbox-port': '3000' }
  expect((await allowed('OPTIONS', '/', { origin: app, ...preflight, ...port }))[1]).toBeUndefined()
})

test('the next page of a list is readable', async () => {
  const server = await startE2bServer({ HOLT_E2B_ORIGINS: app })
  for (let count = 0; count < 2; count += 1) await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })
  const { headers } = await server.e2b('GET', '/v2/sandboxes?limit=1', { headers: { origin: app } })
  expect(headers['x-next-token']).toBeTypeOf('string')
  expect(headers['access-control-expose-headers']).toContain('x-next-token')
})

test('no page of another origin is allowed by default', async () => {
  const server = await startE2bServer()
  const headers = { origin: app, ...preflight }
  const answer = await server.e2b('OPTIONS', '/v2/sandboxes', { headers, key: null })
  expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  expect(answer.headers.vary).toBeUndefined()
})

test.each(['*', 'null', 'app.example.com', `${app}/`, `${app}:443`, 'ftp://a.test'])(
  'the origin %s is refused',
  (HOLT_E2B_ORIGINS) => {
    expect(() => parseConfig({ HOLT_STATE_DIR: '/nowhere', HOLT_E2B: 'on', HOLT_E2B_ORIGINS })).toThrow()
  },
)
