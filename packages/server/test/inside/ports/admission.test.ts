import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makePortToken, readPortToken } from '../../../src/inside/ports/port-token.ts'
import { makeProject } from '../../support/own-project.ts'
import { type PortServer, startPortServer } from '../../support/port-visitor.ts'

const missing = `rt${'a'.repeat(20)}`

/** A runtime with a program on port 3000 that answers `inside`, and a token for it. */
async function start(options: Parameters<typeof startPortServer>[0] = {}): Promise<PortServer & { token: string }> {
  const server = await startPortServer(options)
  server.program(3000, (_, response) => response.end('inside'))
  return { ...server, token: (await server.get(3000)).token }
}

test('a token is accepted in both address forms, as a header, in the query and as a cookie', async () => {
  const { byHost, byPath, hostOf, token } = await start()
  for (const visit of [
    (path: string, headers = {}) => byHost(hostOf(3000), path, { headers }),
    (path: string, headers = {}) => byPath(3000, path, { headers }),
  ]) {
    expect(await visit('/', { 'x-holt-port-token': token })).toMatchObject({ status: 200, text: 'inside' })
    expect(await visit(`/?holt_token=${token}`)).toMatchObject({ status: 200, text: 'inside' })
    expect(await visit('/', { cookie: `a=b; holt_port=old; holt_port=${token}` })).toMatchObject({ status: 200 })
  }
})

test('a private port accepts only its own token', async () => {
  const { byHost, byPath, hostOf, token, get, server, makeRuntime } = await start()
  const other = await makeRuntime()
  const foreign = [(await get(3001)).token, 'hp2', `${token}x`, token.slice(0, -1), 'holt_', '']
  for (const wrong of foreign) {
    const headers = wrong === '' ? {} : { 'x-holt-port-token': wrong }
    expect(await byPath(3000, '/', { headers })).toMatchObject({ status: 401, code: 'unauthenticated' })
    expect(await byHost(hostOf(3000), '/', { headers })).toMatchObject({ status: 404, code: 'runtime_not_found' })
  }
  const elsewhere = hostOf(3000).replace(/rt\w{20}/, other)
  expect(await byHost(elsewhere, '/', { headers: { 'x-holt-port-token': token } })).toMatchObject({ status: 404 })
  // A key opens the path form only.
  const authorization = `Bearer ${server.adminKey}`
  expect(await byPath(3000, '/', { headers: { authorization } })).toMatchObject({ status: 200, text: 'inside' })
  expect(await byHost(hostOf(3000), '/', { headers: { authorization } })).toMatchObject({ status: 404 })
})

test('a runtime of another project is the same as a missing one', async () => {
  const portServer = await start()
  const { byHost, byPath, hostOf, makeKey, server, id } = portServer
  const same = (answer: { text: string }) => ({ ...JSON.parse(answer.text).error, request_id: '' })
  const hostOfNone = hostOf(3000).replace(/rt\w{20}/, missing)
  expect(same(await byHost(hostOf(3000), '/'))).toEqual(same(await byHost(hostOfNone, '/')))
  expect((await byHost(hostOf(3000), '/')).status).toBe(404)
  const { key } = await makeKey('runtime:read')
  expect(await byPath(3000, '/', { headers: { authorization: `Bearer ${key}` } })).toMatchObject({ status: 403 })
  const wrong = await byPath(3000, '/', { headers: { authorization: `Bearer holt_${'x'.repeat(40)}` } })
  expect(wrong).toMatchObject({ status: 401, code: 'unauthenticated' })
  const none = await fetch(`${server.url}/v1/agents/runtime/${missing}/ports/3000/proxy/`, {
    headers: { authorization: `Bearer ${server.adminKey}` },
  })
  expect(none.status).toBe(404)
  const { key: foreign } = await makeProject(portServer, 'another')
  const visit = async (runtime: string) => {
    const url = `${server.url}/v1/agents/runtime/${runtime}/ports/3000/proxy/`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${foreign}` } })
    return { status: answer.status, ...same({ text: (await answer.text()).replaceAll(runtime, 'rt') }) }
  }
  expect(await visit(id)).toEqual(await visit(missing))
  expect(await visit(id)).toMatchObject({ status: 404, code: 'runtime_not_found' })
})

test.each(['localhost', 'x.localhost', '3000.localhost', 'a.b.localhost', '-.localhost', `3000-${missing}x.localhost`])(
  'the host %s: the API answers only hosts outside the domain of ports',
  async (host) => {
    const { byHost } = await start()
    const answer = await byHost(host, '/healthz')
    expect(answer.status).toBe(host === 'localhost' ? 200 : 404)
  },
)

test('a host name is normalised, and its ports do not reach the API', async () => {
  const { byHost, hostOf, token, id } = await start()
  const headers = { 'x-holt-port-token': token }
  for (const host of [
    hostOf(3000).toUpperCase(),
    `3000-${id}.localhost`,
    `3000-${id}.localhost.`,
    `3000-${id}.LocalHost.:1`,
  ]) {
    expect(await byHost(host, '/', { headers })).toMatchObject({ status: 200, text: 'inside' })
    expect(await byHost(host, '/healthz', { headers })).toMatchObject({ status: 200, text: 'inside' })
    expect(await byHost(host, '/v1/agents/runtime', { headers })).toMatchObject({ text: 'inside' })
  }
})

test('an ambiguous request is refused', async () => {
  const { raw, hostOf, token } = await start()
  const port = hostOf(3000)
  for (const head of [
    `GET / HTTP/1.1\r\nHost: ${port}\r\nHost: localhost`,
    `GET / HTTP/1.1\r\nHost: localhost\r\nHost: ${port}`,
    `GET http://localhost/healthz HTTP/1.1\r\nHost: ${port}`,
    `GET http://${port}/ HTTP/1.1\r\nHost: localhost`,
    `GET / HTTP/1.1\r\nHost: ${port}:80`,
    `GET / HTTP/1.1\r\nHost: user@${port}`,
    `POST / HTTP/1.1\r\nHost: ${port}\r\nTransfer-Encoding: gzip, chunked`,
    `POST / HTTP/1.1\r\nHost: ${port}\r\nTransfer-Encoding: xchunked`,
    `POST / HTTP/1.1\r\nHost: ${port}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked`,
    `POST / HTTP/1.1\r\nHost: ${port}\r\nContent-Length: 1, 1`,
    `GET /?holt_token=a&holt_token=b HTTP/1.1\r\nHost: ${port}`,
  ]) {
    const socket = raw(`${head}\r\nX-Holt-Port-Token: ${token}\r\nConnection: close\r\n\r\n0\r\n\r\n`)
    const [answer] = await Promise.all([readAll(socket)])
    expect(answer.split('\r\n')[0], head).toMatch(/^HTTP\/1\.1 400 /)
  }
  const same = raw(
    `GET http://${port.toUpperCase()}/ HTTP/1.1\r\nHost: ${port}\r\nX-Holt-Port-Token: ${token}\r\nConnection: close\r\n\r\n`,
  )
  expect(await readAll(same)).toMatch(/^HTTP\/1\.1 200 .*inside/s)
})

test('expired, rotated and revoked tokens are refused with the reason, and a public port needs none', async () => {
  let now = Date.now()
  const { ask, port, byHost, byPath, hostOf, makeKey, program } = await start({ now: () => now })
  const withToken = (token: string) => ({ headers: { 'x-holt-port-token': token } })
  const { key, key_id } = await makeKey('runtime:write')
  const tokenOf = async (query = '') => (await ask('GET', port(3000) + query, { key })).json.token as string
  const refused = async (token: string) => {
    expect(await byHost(hostOf(3000), '/', withToken(token))).toMatchObject({ status: 401, code: 'unauthenticated' })
    expect(await byPath(3000, '/', withToken(token))).toMatchObject({ status: 401 })
  }
  const [short, long] = [await tokenOf('?expires_in_secs=10'), await tokenOf()]
  now += 11_000
  await refused(short)
  expect((await byHost(hostOf(3000), '/', withToken(long))).status).toBe(200)
  const rotated = (await ask('POST', `${port(3000)}/rotate`)).json.token
  await refused(long)
  expect((await byHost(hostOf(3000), '/', withToken(rotated))).status).toBe(200)
  const ofKey = await tokenOf()
  await ask('DELETE', `/v1/agents/key/${key_id}`)
  await refused(ofKey)
  await ask('PATCH', port(3000), { json: { public: true } })
  expect((await byHost(hostOf(3000), '/')).text).toBe('inside')
  expect((await byPath(3000, '/', withToken(long))).text).toBe('inside')
  program(3001, (_, response) => response.end('other'))
  expect((await byHost(hostOf(3001), '/')).status).toBe(404)
})

test('tokens stay valid over a restart', async () => {
  const { token, id, restart } = await start()
  const { server } = await restart()
  const answer = await fetch(`${server.url}/v1/agents/runtime/${id}/ports/3000/proxy/?holt_token=${token}`)
  expect([answer.status, await answer.text()]).toEqual([200, 'inside'])
})

test('a browser is redirected away from the address with the token', async () => {
  const { byHost, byPath, hostOf, token, port } = await start()
  const headers = { accept: 'text/html,*/*' }
  const host = await byHost(hostOf(3000), `/a?x=1&holt_token=${token}&y=%20`, { headers })
  expect(host).toMatchObject({ status: 303, headers: { location: '/a?x=1&y=%20', 'cache-control': 'no-store' } })
  expect(host.headers['set-cookie']?.[0]).toMatch(
    /^holt_port=hp2\.[^;]+; Path=\/; Max-Age=86\d+; HttpOnly; SameSite=Lax$/,
  )
  const path = await byPath(3000, `/?holt_token=${token}`, { headers })
  expect(path).toMatchObject({ status: 303, headers: { location: `${port(3000)}/proxy/` } })
  expect(path.headers['set-cookie']?.[0]).toContain(`; Path=${port(3000)}/proxy;`)
  // It would be sent to another host.
  expect((await byHost(hostOf(3000), `//elsewhere/?holt_token=${token}`, { headers })).status).toBe(200)
  const bare = await byPath(3000, `?x=1&holt_token=${token}`)
  expect(bare).toMatchObject({ status: 307, headers: { location: `${port(3000)}/proxy/?x=1&holt_token=${token}` } })
})

test('a token is valid only for its service and its port', () => {
  const secret = randomBytes(32)
  const place = fc.record({
    runtimeId: fc.constantFrom(missing, `rt${'b'.repeat(20)}`),
    port: fc.integer({ min: 1, max: 65_535 }),
  })
  const rest = fc.record({
    generation: fc.integer({ min: 0, max: 999 }),
    keyId: fc.constant(`ky${'c'.repeat(20)}`),
    keyVersion: fc.integer({ min: 1, max: 999 }),
    expiresAtSecs: fc.integer({ min: 1, max: 4e9 }),
  })
  fc.assert(
    fc.property(place, rest, place, fc.nat(150), fc.string(), (here, more, elsewhere, at, junk) => {
      const token = makePortToken(secret, { ...here, ...more })
      expect(readPortToken(secret, token, here)).toEqual({ ...here, ...more })
      expect(readPortToken(randomBytes(32), token, here)).toBeNull()
      if (elsewhere.port !== here.port || elsewhere.runtimeId !== here.runtimeId)
        expect(readPortToken(secret, token, elsewhere)).toBeNull()
      const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
      expect(readPortToken(secret, changed, here)).toBeNull()
      expect(readPortToken(secret, junk, here)).toBeNull()
    }),
  )
})

async function readAll(socket: ReturnType<PortServer['raw']>): Promise<string> {
  let all = ''
  for await (const part of socket) all += part
  return all
}

test('a token for one request opens a browser once, which then has a cookie', async () => {
  const { byHost, byPath, hostOf, get, program } = await start()
  const headers = { accept: 'text/html' }
  for (const visit of [
    (path: string, more = {}) => byHost(hostOf(3000), path, { headers: { ...headers, ...more } }),
    (path: string, more = {}) => byPath(3000, path, { headers: { ...headers, ...more } }),
  ]) {
    const { token } = await get(3000, '?once=true&expires_in_secs=600')
    const opened = await visit(`/a?x=1&holt_token=${token}`)
    expect(opened).toMatchObject({ status: 303, headers: { location: expect.stringMatching(/\/a\?x=1$/) } })
    const [cookie = ''] = opened.headers['set-cookie'] ?? []
    expect(cookie).not.toContain(token)
    expect(cookie).toMatch(/Max-Age=(?:600|59\d); HttpOnly; SameSite=Lax/)
    expect(await visit('/a', { cookie: cookie.split(';', 1)[0] })).toMatchObject({ status: 200, text: 'inside' })
    for (const path of [`/?holt_token=${token}`, '/'])
      expect((await visit(path, { 'x-holt-port-token': path === '/' ? token : [] })).status).not.toBe(200)
  }
  program(3001, (request, response) => response.end(`${request.url} ${JSON.stringify(request.headers)}`))
  const { token } = await get(3001, '?once=1')
  const seen = await byPath(3001, `/?holt_token=${token}`)
  expect([seen.status, seen.text.includes(token)]).toEqual([200, false])
})

test('a token for one request is for its port, and ends after a minute, with a rotation and with its key', async () => {
  let passedMs = 0
  const server = await start({ now: () => Date.now() + passedMs })
  const statusOf = async (token: string, port = 3000) =>
    (await server.byPath(port, '/', { headers: { 'x-holt-port-token': token } })).status
  const make = async () => (await server.get(3000, '?once=true')).token as string
  server.program(3001, (_, response) => response.end('another'))
  const elsewhere = await make()
  expect(await statusOf(elsewhere, 3001)).toBe(401)
  const rotated = await make()
  await server.ask('POST', `${server.port(3000)}/rotate`)
  expect(await statusOf(rotated)).toBe(401)
  const { key, key_id } = await server.makeKey('runtime:write')
  const { token: revoked } = (await server.ask('GET', `${server.port(3000)}?once=true`, { key })).json
  await server.ask('DELETE', `/v1/agents/key/${key_id}`)
  expect(await statusOf(revoked)).toBe(401)
  const late = await make()
  passedMs += 60_000
  expect(await statusOf(late)).toBe(401)
  expect(await statusOf(await make())).toBe(200)
  const many = await Promise.all(Array.from({ length: 20 }, async () => make()))
  const [one = ''] = many
  const answers = await Promise.all(Array.from({ length: 20 }, () => statusOf(one)))
  expect(answers.filter((status) => status === 200)).toHaveLength(1)
})

test('an invalid token in the address does not replace a valid cookie', async () => {
  const { byHost, hostOf, token } = await start()
  const headers = { accept: 'text/html', cookie: `holt_port=${token}` }
  const answer = await byHost(hostOf(3000), '/?holt_token=hp1.spent', { headers })
  expect(answer.status).toBe(303)
  expect(answer.headers['set-cookie']?.[0]).toContain(`holt_port=${token};`)
})
