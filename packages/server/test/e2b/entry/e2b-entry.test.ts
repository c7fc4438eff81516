import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startE2bServer } from '../../support/e2b-server.ts'
import { readMetrics } from '../../support/read-metrics.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const envd = (id: string) => ({ 'E2b-Sandbox-Id': id, 'E2b-Sandbox-Port': '49983' })

test('the entry is off by default', async () => {
  const server = await startTestServer()
  const { status, json } = await server.ask('GET', '/health')
  expect([status, json.error.code]).toEqual([404, 'route_not_found'])
})

test('one address has the control plane, every runtime and Holt itself', async () => {
  const server = await startE2bServer()
  const id = await server.makeRuntime()
  expect(await server.e2b('GET', '/health')).toMatchObject({ status: 204, text: '' })
  expect(await server.e2b('GET', '/health', { headers: envd(id), key: null })).toMatchObject({ status: 204 })
  expect((await server.ask('GET', `/v1/agents/runtime/${id}`)).status).toBe(200)
})

test('names below the domain reach the control plane and runtimes, and never Holt', async () => {
  const server = await startE2bServer({ HOLT_E2B_DOMAIN: 'E.test:8443' })
  const id = await server.makeRuntime()
  const path = `/v1/agents/runtime/${id}`
  const authorization = { authorization: `Bearer ${server.server.adminKey}` }
  for (const host of ['api.e.test', 'api.e.test:8443', 'API.E.TEST.'])
    expect(await server.e2b('GET', '/health', { host })).toMatchObject({ status: 204 })
  for (const host of ['api.e.test', 'sandbox.e.test', 'www.e.test', `49983-${id}.e.test`]) {
    const { status, json } = await server.e2b('GET', path, { host, headers: authorization })
    expect([host, json.code]).toEqual([host, status])
    expect(json.runtime_id).toBeUndefined()
  }
  expect((await server.ask('GET', path)).status).toBe(200)
})

test('no upgrade at a name of the domain reaches Holt', async () => {
  const server = await startE2bServer({ HOLT_E2B_DOMAIN: 'e.test' })
  const id = await server.makeRuntime()
  const headers = {
    authorization: `Bearer ${server.server.adminKey}`,
    ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
    'sec-websocket-key': Buffer.alloc(16).toString('base64'),
  }
  const path = `/v1/agents/runtime/${id}/commands/cm00000000000000000000/attach`
  const ask = async (host?: string) => {
    const { status, json } = await server.e2b('GET', path, { headers, ...(host === undefined ? {} : { host }) })
    return [status, json]
  }
  // Holt's own answer, in its own form.
  expect(await ask()).toMatchObject([expect.any(Number), { error: { code: expect.any(String) } }])
  for (const host of ['api.e.test', 'sandbox.e.test', 'www.e.test', `49983-${id}.e.test`])
    expect([host, ...(await ask(host))]).toMatchObject([host, 404, { code: 404 }])
})

test('the name of a runtime is not overruled by headers', async () => {
  const server = await startE2bServer({ HOLT_E2B_DOMAIN: 'e.test' })
  const [one, other] = [await server.makeRuntime(), await server.makeRuntime()]
  await server.e2b('DELETE', '/', { host: 'api.e.test' })
  await server.ask('DELETE', `/v1/agents/runtime/${one}`)
  const gone = await server.e2b('GET', '/health', { host: `49983-${one}.e.test`, headers: envd(other) })
  expect(gone).toMatchObject({
    status: 502,
    json: { sandboxId: one, message: 'The sandbox was not found', code: 502 },
  })
})

test.each(['rtaaaaaaaaaaaaaaaaaaaa', 'x', '__proto__'])('no runtime is found under %s', async (id) => {
  const server = await startE2bServer()
  const { status, json } = await server.e2b('GET', '/health', { headers: envd(id) })
  expect([status, json]).toEqual([502, { sandboxId: id, message: 'The sandbox was not found', code: 502 }])
})

test('a request that names no sandbox completely is refused', async () => {
  const server = await startE2bServer()
  expect(await server.e2b('GET', '/', { headers: { 'E2b-Sandbox-Id': 'a' } })).toMatchObject({
    status: 400,
    json: { code: 400 },
  })
})

test('two hosts in one request are refused', async () => {
  const server = await startE2bServer({ HOLT_E2B_DOMAIN: 'e.test' })
  const socket = connect(Number(new URL(server.server.url).port), '127.0.0.1')
  socket.end('GET /health HTTP/1.1\r\nHost: api.e.test\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /)
})

test('an upgrade with two hosts is refused', async () => {
  const server = await startE2bServer({ HOLT_E2B_DOMAIN: 'e.test' })
  const id = await server.makeRuntime()
  const socket = connect(Number(new URL(server.server.url).port), '127.0.0.1')
  const path = `/v1/agents/runtime/${id}/commands/cm00000000000000000000/attach`
  const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nHost: api.e.test\r\n`
  socket.end(`${head}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 [\s\S]*ambiguous/)
})

test('a request that a proxy could read in another way is refused, with its connection', async () => {
  const server = await startE2bServer()
  const socket = connect(Number(new URL(server.server.url).port), '127.0.0.1')
  const head = 'POST /v2/sandboxes HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'
  socket.write(`${head}0\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  const answer = await text(socket)
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(answer).not.toContain('HTTP/1.1 204')
})

test('commands and files need the token of their runtime', async () => {
  const server = await startE2bServer()
  const [one, other] = [await server.makeRuntime(), await server.makeRuntime()]
  const ask = (token?: string) =>
    server.e2b('GET', '/envs', {
      headers: { ...envd(one), ...(token === undefined ? {} : { 'x-access-token': token }) },
    })
  expect((await ask()).json).toMatchObject({ code: 401 })
  for (const token of ['', 'x', '0'.repeat(64), server.server.adminKey, other])
    expect((await ask(token)).status).toBe(401)
})

test.each(['/init', '/freeze', '/upgrade'])('%s is there for nobody', async (path) => {
  const server = await startE2bServer()
  const id = await server.makeRuntime()
  expect((await server.e2b('POST', path, { headers: envd(id) })).status).toBe(404)
})

test('requests are counted under their own label', async () => {
  const server = await startE2bServer()
  await server.e2b('GET', '/health')
  const metrics = readMetrics((await server.ask('GET', '/metrics')).text)
  const samples = metrics.get('holt_http_requests_total')?.samples ?? []
  expect(samples).toContainEqual(
    expect.objectContaining({
      labels: { method: 'GET', route: 'health', status: '204', surface: 'e2b' },
      value: 1,
    }),
  )
})
