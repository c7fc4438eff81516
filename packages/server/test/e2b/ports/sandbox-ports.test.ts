import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { openPortSecret } from '../../../src/inside/ports/port-token.ts'
import { sandboxToken } from '../../../src/inside/ports/sandbox-token.ts'
import { type E2bPortServer, portsDomain, startE2bPortServer } from '../../support/e2b-ports.ts'
import { keepingLog } from '../../support/start-test-server.ts'

const hostOf = (id: string, port = 3000) => `${port}-${id}.${portsDomain}`
const byHeaders = (id: string, port = 3000) => ({ 'E2b-Sandbox-Id': id, 'E2b-Sandbox-Port': String(port) })

/** Returns a token of a runtime, as the control plane answers it. */
async function tokenOf({ stateDir }: E2bPortServer, use: 'envd' | 'traffic', id: string): Promise<string> {
  const secret = await openPortSecret(stateDir, keepingLog().log)
  return sandboxToken(secret, use, { runtime_id: id, token_generation: 0 })
}

test('a port of a runtime that a client of E2B made is public, by name and by headers', async () => {
  const server = await startE2bPortServer()
  const id = await server.makeSandbox()
  server.program(id, 3000)
  const visits = [{ host: hostOf(id) }, { headers: byHeaders(id) }, { host: `${hostOf(id)}:8443` }]
  for (const visit of visits) {
    const { status, json } = await server.e2b('POST', '/a?b=1&c', { ...visit, key: null, body: 'x' })
    expect([status, json.method, json.url]).toEqual([200, 'POST', '/a?b=1&c'])
  }
  const { json } = await server.e2b('GET', '/', { host: `sandbox.${portsDomain}`, headers: byHeaders(id) })
  expect(json.url).toBe('/')
  const { json: labelled } = await server.e2b('GET', '/', { host: `3000-${id}-x.${portsDomain}` })
  expect(labelled.headers.host).toBe(`3000-${id}-x.${portsDomain}`)
})

test('a program sees the Host that the client sent, or the one of the create', async () => {
  const server = await startE2bPortServer()
  const plain = await server.makeSandbox()
  const masked = await server.makeSandbox({ maskRequestHost: ['localhost:$', '{PORT}'].join('') })
  for (const id of [plain, masked]) server.program(id, 3000)
  const host = `${hostOf(plain)}:8443`
  expect((await server.e2b('GET', '/', { host })).json.headers.host).toBe(host)
  const { json } = await server.e2b('GET', '/', { host: hostOf(masked) })
  expect(json.headers).toMatchObject({
    host: 'localhost:3000',
    'x-forwarded-host': hostOf(masked),
    'x-forwarded-proto': 'https',
  })
})

test('without public ports, a request needs the token of its runtime, which no program sees', async () => {
  const server = await startE2bPortServer()
  const [id, other] = [
    await server.makeSandbox({ publicPorts: false }),
    await server.makeSandbox({ publicPorts: false }),
  ]
  for (const each of [id, other]) server.program(each, 3000)
  const token = await tokenOf(server, 'traffic', id)
  const wrong = [
    undefined,
    '',
    'x',
    await tokenOf(server, 'traffic', other),
    await tokenOf(server, 'envd', id),
    `${token}0`,
  ]
  for (const visit of [{ host: hostOf(id) }, { headers: byHeaders(id) }]) {
    for (const text of wrong) {
      const headers = { ...visit.headers, ...(text === undefined ? {} : { 'E2b-Traffic-Access-Token': text }) }
      const { status, json } = await server.e2b('GET', '/', { ...visit, headers, key: null })
      expect([text, status, json]).toMatchObject([text, 403, { sandboxId: id, code: 403 }])
    }
    const headers = { ...visit.headers, 'E2b-Traffic-Access-Token': token }
    const { status, json } = await server.e2b('GET', '/', { ...visit, headers })
    expect(status).toBe(200)
    expect(JSON.stringify(json)).not.toContain(token)
  }
  const twice = { 'E2b-Traffic-Access-Token': [token, token] }
  expect((await server.e2b('GET', '/', { host: hostOf(id), headers: twice })).status).toBe(403)
})

test('no program sees a key, a token or a cookie of this service', async () => {
  const server = await startE2bPortServer()
  const id = await server.makeSandbox()
  server.program(id, 49_999)
  const envd = await tokenOf(server, 'envd', id)
  const { json } = await server.e2b('GET', '/', {
    host: hostOf(id, 49_999),
    headers: {
      ...byHeaders(id, 49_999),
      'X-Access-Token': envd,
      Authorization: `Bearer ${server.server.adminKey}`,
      Cookie: 'a=1; holt_port=secret',
      'X-Holt-Port-Token': 'secret',
    },
  })
  expect(Object.keys(json.headers)).not.toContain('e2b-sandbox-id')
  expect(json.headers.cookie).toBe('a=1')
  for (const secret of [envd, server.server.adminKey, 'secret']) expect(JSON.stringify(json)).not.toContain(secret)
  const own = { 'X-Access-Token': 'own', 'X-API-KEY': 'own', Authorization: 'Bearer own' }
  const { json: kept } = await server.e2b('GET', '/', { host: hostOf(id, 49_999), headers: own, key: null })
  expect(kept.headers).toMatchObject({ 'x-access-token': 'own', 'x-api-key': 'own', authorization: 'Bearer own' })
})

test('a cookie of one port stays with its host', async () => {
  const server = await startE2bPortServer()
  const id = await server.makeSandbox()
  server.program(id, 3000, (_, response) =>
    response.setHeader('set-cookie', [`a=1; Domain=${portsDomain}`, 'b=2; Path=/', 'holt_port=x']).end(),
  )
  const { headers } = await server.e2b('GET', '/', { host: hostOf(id) })
  expect(headers['set-cookie']).toEqual(['a=1', 'b=2; Path=/'])
})

test('a closed port and a missing runtime are told apart by the words of the 502', async () => {
  const server = await startE2bPortServer()
  const id = await server.makeSandbox()
  const closed = { sandboxId: id, message: 'The sandbox is running but port is not open', port: 3000, code: 502 }
  expect(await server.e2b('GET', '/', { host: hostOf(id) })).toMatchObject({ status: 502, json: closed })
  expect(await server.e2b('GET', '/', { headers: byHeaders(id) })).toMatchObject({ status: 502, json: closed })
  await server.ask('DELETE', `/v1/agents/runtime/${id}`)
  const gone = { sandboxId: id, message: 'The sandbox was not found', code: 502 }
  expect(await server.e2b('GET', '/', { host: hostOf(id) })).toMatchObject({ status: 502, json: gone })
})

test("the ports of Holt's own runtimes stay private, and open with Holt's tokens", async () => {
  const server = await startE2bPortServer()
  const id = await server.makeRuntime()
  server.program(id, 3000)
  const path = `/v1/agents/runtime/${id}/ports/3000`
  const missing = `rt${'a'.repeat(20)}`
  for (const visit of [{ host: hostOf(id) }, { headers: byHeaders(id) }]) {
    const answer = await server.e2b('GET', '/', { ...visit, key: null })
    const none = await server.e2b(
      'GET',
      '/',
      JSON.parse(JSON.stringify({ ...visit, key: null }).replaceAll(id, missing)),
    )
    expect([answer.status, answer.text.replaceAll(id, missing)]).toEqual([502, none.text])
  }
  const { token } = (await server.ask('GET', path)).json
  const opened = await server.e2b('GET', `/x?holt_token=${token}`, { host: hostOf(id), key: null })
  expect(opened.json).toMatchObject({ url: '/x' })
  const authorization = `Bearer ${server.server.adminKey}`
  const byKey = await server.e2b('GET', '/', { headers: { ...byHeaders(id), authorization }, key: null })
  expect(byKey.json.headers.authorization).toBeUndefined()
  await server.ask('PATCH', path, { json: { public: true } })
  expect((await server.e2b('GET', '/', { host: hostOf(id), key: null })).status).toBe(200)
})

test.each(['host', 'headers'])('port 49983 by %s never reaches a program inside', async (by) => {
  const server = await startE2bPortServer()
  const id = await server.makeSandbox()
  let seen = 0
  const program = server.program(id, 49_983, (_, response) => {
    seen += 1
    response.end()
  })
  program.on('upgrade', () => {
    seen += 1
  })
  const where = by === 'host' ? { host: hostOf(id, 49_983) } : { headers: byHeaders(id, 49_983) }
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket' }
  for (const path of ['/health', '/', '/files', '/x'])
    for (const headers of [{}, upgrade])
      await server.e2b('GET', path, { ...where, headers: { ...where.headers, ...headers } })
  expect(seen).toBe(0)
})

test('a request resumes a paused runtime that may resume, and no other', async () => {
  const server = await startE2bPortServer()
  const [resumes, stays] = [await server.makeSandbox(), await server.makeSandbox({ auto_resume: false })]
  for (const id of [resumes, stays]) {
    server.program(id, 3000)
    expect((await server.ask('POST', `/v1/agents/runtime/${id}/pause`)).status).toBe(200)
  }
  expect((await server.e2b('GET', '/', { host: hostOf(stays) })).json.message).toContain('was not found')
  const { status } = await server.e2b('GET', '/', { host: hostOf(resumes) })
  expect([200, 502]).toContain(status)
  expect((await server.ask('GET', `/v1/agents/runtime/${resumes}`)).json.state).toBe('running')
  expect((await server.ask('GET', `/v1/agents/runtime/${stays}`)).json.state).toBe('paused')
})

/** Opens a connection that changes its protocol, and returns its head and its socket. */
async function upgrade(
  server: E2bPortServer,
  { host, headers = {} }: { host: string; headers?: Record<string, string> },
) {
  const { hostname, port } = new URL(server.server.url)
  const all = { host, connection: 'Upgrade', upgrade: 'websocket', ...headers }
  const outgoing = request({ hostname, port, path: '/', agent: false, headers: all })
  outgoing.on('error', () => {})
  outgoing.end()
  return new Promise<{ status: number; body: string; socket: Socket | null }>((resolve) => {
    outgoing.once('upgrade', (answer: IncomingMessage, socket: Socket) => {
      onTestFinished(() => void socket.destroy())
      resolve({ status: answer.statusCode ?? 0, body: '', socket })
    })
    outgoing.once('response', async (answer) =>
      resolve({ status: answer.statusCode ?? 0, body: await text(answer), socket: null }),
    )
  })
}

function echoes(server: E2bPortServer, id: string): void {
  server.program(id, 3000).on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.pipe(socket)
  })
}

test('a WebSocket goes both ways, and is cut when the runtime ends', async () => {
  const server = await startE2bPortServer()
  const id = await server.makeSandbox()
  echoes(server, id)
  const { status, socket } = await upgrade(server, { host: hostOf(id) })
  expect(status).toBe(101)
  socket?.on('error', () => {}).write('hello')
  expect(String((await once(socket as Socket, 'data'))[0])).toBe('hello')
  const closed = new Promise((resolve) => socket?.once('close', resolve))
  await server.ask('DELETE', `/v1/agents/runtime/${id}`)
  await closed
})

test('an upgrade without the token, to a closed port or to nothing is answered as a request is', async () => {
  const server = await startE2bPortServer()
  const [open, closed] = [await server.makeSandbox(), await server.makeSandbox({ publicPorts: false })]
  echoes(server, closed)
  expect(await upgrade(server, { host: hostOf(closed) })).toMatchObject({ status: 403 })
  const token = await tokenOf(server, 'traffic', closed)
  const headers = { 'E2b-Traffic-Access-Token': token }
  expect(await upgrade(server, { host: hostOf(closed), headers })).toMatchObject({ status: 101 })
  expect((await upgrade(server, { host: hostOf(open) })).body).toContain('port is not open')
  expect((await upgrade(server, { host: hostOf('rtx') })).body).toContain('was not found')
})

test('no form of a request line or of headers leads from the name of a runtime elsewhere', async () => {
  const server = await startE2bPortServer()
  const [id, other] = [await server.makeSandbox(), await server.makeSandbox({ publicPorts: false })]
  for (const each of [id, other]) server.program(each, 3000, (_, response) => response.end(`in ${each}`))
  const host = hostOf(id)
  const key = `Authorization: Bearer ${server.server.adminKey}\r\nX-API-KEY: ${server.server.adminKey}`
  const routed = `E2b-Sandbox-Id: ${other}\r\nE2b-Sandbox-Port: 3000`
  for (const [head, expected] of [
    [`GET /v1/agents/runtime HTTP/1.1\r\nHost: ${host}\r\n${key}`, `in ${id}`],
    [`GET /v2/sandboxes HTTP/1.1\r\nHost: ${host}\r\n${key}`, `in ${id}`],
    [`GET / HTTP/1.1\r\nHost: ${host}\r\n${routed}`, `in ${id}`],
    [`GET /v1/agents/runtime/${other}/ports/3000/proxy/ HTTP/1.1\r\nHost: ${host}\r\n${key}`, `in ${id}`],
    [`GET http://${host}/x HTTP/1.1\r\nHost: ${host}`, `in ${id}`],
    [`GET http://${hostOf(other)}/ HTTP/1.1\r\nHost: ${host}`, ' 400 '],
    [`GET http://localhost/v1/agents/runtime HTTP/1.1\r\nHost: ${host}\r\n${key}`, ' 400 '],
    [`GET / HTTP/1.1\r\nHost: ${host}\r\nHost: ${hostOf(other)}`, ' 400 '],
    [`GET / HTTP/1.1\r\nHost: ${hostOf(other)}@${host}`, ' 400 '],
    [`CONNECT ${hostOf(other)}:80 HTTP/1.1\r\nHost: ${host}`, ' 405 '],
    [`GET / HTTP/1.1\r\nHost: 03000-${id}.${portsDomain}`, ' 404 '],
    [`GET / HTTP/1.1\r\nHost: 3000-${id}.x.${portsDomain}`, ' 404 '],
    [`GET / HTTP/1.1\r\nHost: 3000--${id}.${portsDomain}`, ' 404 '],
  ] as const) {
    const socket = connect(Number(new URL(server.server.url).port), '127.0.0.1')
    socket.write(`${head}\r\nConnection: close\r\n\r\n`)
    expect([head, await text(socket)]).toEqual([head, expect.stringContaining(expected)])
  }
})

test('a page that a browser asks for is a page, also when the port is closed', async () => {
  const server = await startE2bPortServer()
  const id = await server.makeSandbox()
  const {
    status,
    headers,
    text: page,
  } = await server.e2b('GET', '/', { host: hostOf(id), headers: { accept: 'text/html,*/*' } })
  expect([status, headers['content-type']]).toEqual([502, 'text/html; charset=utf-8'])
  expect(page).toContain('port is not open')
  const json = await server.e2b('GET', '/', { host: hostOf(id), headers: { accept: '*/*' } })
  expect(json.headers['content-type']).toBe('application/json')
})
