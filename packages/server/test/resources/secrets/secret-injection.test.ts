import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { issue, makeTestCa } from '../../../../egress/test/support/certificates.ts'
import type { TestGuest } from '../../../../egress/test/support/guest.ts'
import { startHttpsHost } from '../../../../egress/test/support/hosts.ts'
import { openOutside } from '../../../src/resources/network/open-outside.ts'
import { guestOf } from '../../support/egress-guest.ts'
import { keepingLog, startTestServer } from '../../support/start-test-server.ts'

const secrets = '/v1/agents/secret'

/**
 * A server over the real gateway, and a host of an API that keeps what it is sent and echoes a
 * header.
 */
async function setUp() {
  const ca = await makeTestCa()
  const seen: IncomingHttpHeaders[] = []
  const host = await startHttpsHost(await issue(ca, 'api.example.com', 'login.example.com'), (incoming, response) => {
    seen.push(incoming.headers)
    if (incoming.headers.host === 'login.example.com') {
      response.end(JSON.stringify({ access_token: `token-${seen.length}`, expires_in: 3600 }))
    } else response.end(`you sent ${incoming.headers.authorization}`)
  })
  const dir = await mkdtemp(join(tmpdir(), 'holt-injection-'))
  onTestFinished(async () => {
    await host[Symbol.asyncDispose]()
    await rm(dir, { recursive: true })
  })
  const caFile = join(dir, 'ca.pem')
  await writeFile(caFile, ca.certificatePem)
  const overrides = ['api.example.com', 'login.example.com'].map((name) => {
    return { host: name, port: 443, toHost: host.host, toPort: host.port }
  })
  const egress = { resolvers: ['127.0.0.1:1'], allowedNetworks: [], overrides, caFile }
  return { ...(await startTestServer({ outside: await openOutside({ egress }, keepingLog().log) })), seen }
}

/** Sends a request from inside, as a program that trusts the runtime's own authority. */
async function ask(guest: TestGuest, ca: string, authorization: string): Promise<{ status: number; body: string }> {
  const stream = await guest.dial('api.example.com', 443)
  const socket = connect({ socket: stream, servername: 'api.example.com', ca })
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  const headers = { host: 'api.example.com', authorization, connection: 'close' }
  request({ createConnection: () => socket, path: '/', headers }, async (response) => {
    resolve({ status: response.statusCode ?? 0, body: await text(response) })
  })
    .on('error', reject)
    .end()
  return promise.finally(() => socket.destroy())
}

test('the value is inserted by the gateway, invisible inside, and follows changes and deletion', async () => {
  const server = await setUp()
  await server.ask('POST', secrets, { json: { name: 'api', value: 'hunter22-hunter22', hosts: ['api.example.com'] } })
  const policy = { allow: [{ host: 'api.example.com' }] }
  const id = await server.makeRuntime({ network_policy: policy, secrets: ['api'] })
  const guest = await guestOf(server, id)
  const placeholder = server.engine.guest(id)?.identity?.env.API ?? ''
  const [ca = ''] = server.engine.guest(id)?.network?.ca_certificates ?? []
  const send = () => ask(guest, ca, `Bearer ${placeholder}`)
  expect(placeholder).toMatch(/^holt-placeholder-api-/)
  const first = await send()
  expect(server.seen.at(-1)?.authorization).toBe('Bearer hunter22-hunter22')
  expect(first).toEqual({ status: 200, body: expect.stringMatching(/^you sent holt-pl/) })
  expect(first.body).not.toContain('hunter')
  await server.ask('PUT', `${secrets}/api`, { json: { value: 'hunter23-hunter23' } })
  await send()
  expect(server.seen.at(-1)?.authorization).toBe('Bearer hunter23-hunter23')
  await server.ask('DELETE', `${secrets}/api`)
  const requests = server.seen.length
  expect((await send()).status).toBe(403)
  expect(server.seen).toHaveLength(requests)
  const log = (await server.ask('GET', `/v1/agents/runtime/${id}/network/log`)).text
  expect(log).toContain('"secret":"api"')
  expect(log).toContain('secret_unavailable')
  expect(log).not.toContain('hunter')
})

test('an OAuth token is fetched for it, and without one nothing is sent', async () => {
  const server = await setUp()
  const settings = {
    type: 'oauth2',
    token_url: 'https://login.example.com/token',
    client_id: 'holt',
    client_secret: 'hunter22',
  }
  await server.ask('POST', '/v1/agents/identity-provider', { json: { name: 'corporate', ...settings } })
  await server.ask('POST', secrets, { json: { name: 'api', provider: 'corporate', hosts: ['api.example.com'] } })
  const id = await server.makeRuntime({ network_policy: { allow: [{ host: 'api.example.com' }] }, secrets: ['api'] })
  const guest = await guestOf(server, id)
  const [ca = ''] = server.engine.guest(id)?.network?.ca_certificates ?? []
  const send = () => ask(guest, ca, `Bearer ${server.engine.guest(id)?.identity?.env.API}`)
  expect((await send()).status).toBe(200)
  expect(server.seen.map(({ host, authorization }) => [host, authorization])).toEqual([
    ['login.example.com', `Basic ${Buffer.from('holt:hunter22').toString('base64')}`],
    ['api.example.com', 'Bearer token-1'],
  ])
  const down = { ...settings, token_url: 'https://down.example.com/token' }
  await server.ask('PUT', '/v1/agents/identity-provider/corporate', { json: down })
  expect((await send()).status).toBeGreaterThanOrEqual(400)
  expect(server.seen).toHaveLength(2)
  const { last_error } = (await server.ask('GET', '/v1/agents/identity-provider/corporate')).json
  expect(last_error.message).toBe('the token endpoint could not be reached')
})
