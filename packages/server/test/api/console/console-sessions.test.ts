import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../../src/index.ts'
import { LinkCodes } from '../../../src/tenancy/console/link-codes.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { testDatabase } from '../../support/test-store.ts'

/** The tokens that the consoles of two browsers keep in the storage of their origins. */
const page = 'p'.repeat(43)
const otherPage = 'q'.repeat(43)

/** A browser that is signed in: its cookie, and requests as the console sends them. */
async function signIn(server: TestServer, key = server.server.adminKey) {
  const origin = server.server.url
  const answer = await server.ask('POST', '/console/session', { key, headers: { 'x-holt-console': page, origin } })
  expect(answer.status).toBe(201)
  const set = answer.headers.get('set-cookie') ?? ''
  const [cookie = ''] = set.split(';', 1)
  const keyId: string = answer.json.key_id
  const headers = { cookie, 'x-holt-console': `${keyId}.${page}`, origin, 'sec-fetch-site': 'same-origin' }
  const ask = (method: string, path: string, more: { json?: unknown; headers?: Record<string, string> } = {}) =>
    server.ask(method, path, { key: null, ...more, headers: { ...headers, ...more.headers } })
  return { set, cookie, keyId, headers, ask, session: answer.json, signedIn: answer }
}

/** Sends a request with exactly these headers; `fetch` sets some of its own. */
async function statusOf(url: string, method: string, headers: Record<string, string>): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  httpRequest(url, { method, headers, agent: false }, (answer) => {
    answer.resume()
    resolve(answer.statusCode ?? 0)
  })
    .on('error', reject)
    .end()
  return promise
}

describe('a session', () => {
  test('is a cookie that scripts and other sites cannot use, and acts with the scopes of its key', async () => {
    const server = await startTestServer()
    const { key, key_id } = await server.makeKey('runtime:read')
    const { set, cookie, ask, session, signedIn } = await signIn(server, key)
    expect(set).toBe(`${cookie}; Path=/; HttpOnly; SameSite=Strict`)
    expect(signedIn.text).not.toContain(cookie.split('=')[1])
    expect(session).toMatchObject({ key_id, scopes: ['runtime:read'], project_name: 'default' })
    expect((await ask('GET', '/v1/agents/whoami')).json.key.key_id).toBe(key_id)
    expect((await ask('GET', '/v1/agents/runtime')).status).toBe(200)
    const refused = await ask('POST', '/v1/agents/runtime', { json: {} })
    expect([refused.status, refused.json.error.details.scope]).toEqual([403, 'runtime:write'])
  })

  test('has the prefix of hosts and Secure behind TLS', async () => {
    const server = await startTestServer()
    const { host } = new URL(server.server.url)
    const headers = { 'x-holt-console': page, origin: `https://${host}` }
    const { headers: answered } = await server.ask('POST', '/console/session', { headers })
    expect(answered.get('set-cookie')).toMatch(
      /^__Host-holt_console_ky\w+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    )
  })

  test('survives a restart of the service', async () => {
    const server = await startTestServer()
    const { headers } = await signIn(server)
    const again = await server.restart()
    const { origin: _, ...others } = headers
    expect((await again.ask('GET', '/v1/agents/whoami', { key: null, headers: others })).status).toBe(200)
  })

  test('ends when it is unused for 15 minutes, and after 12 hours in any case', async () => {
    let passedMs = 0
    const server = await startTestServer({ now: () => Date.now() + passedMs })
    const idle = await signIn(server)
    passedMs += 14 * 60_000
    expect((await idle.ask('GET', '/v1/agents/whoami')).status).toBe(200)
    passedMs += 14 * 60_000
    // The renewal by the request before is written soon after its answer.
    await expect.poll(async () => (await idle.ask('GET', '/v1/agents/whoami')).status).toBe(200)
    passedMs += 16 * 60_000
    expect((await idle.ask('GET', '/v1/agents/whoami')).status).toBe(401)
    const busy = await signIn(server)
    for (let minutes = 0; minutes < 12 * 60 - 10; minutes += 10) {
      passedMs += 10 * 60_000
      await expect.poll(async () => (await busy.ask('GET', '/v1/agents/whoami')).status).toBe(200)
    }
    passedMs += 11 * 60_000
    expect((await busy.ask('GET', '/v1/agents/whoami')).status).toBe(401)
  })

  test.each(['revoke', 'expire', 'rotate'])('ends everywhere when its key ends: %s', async (how) => {
    let passedMs = 0
    const server = await startTestServer({ now: () => Date.now() + passedMs })
    const expires_at = new Date(Date.now() + 60_000).toISOString()
    const made = await server.ask('POST', '/v1/agents/key', {
      json: { name: 'ends', scopes: ['admin'], ...(how === 'expire' ? { expires_at } : {}) },
    })
    const { key, key_id } = made.json
    const browsers = [await signIn(server, key), await signIn(server, key)]
    const stream = await fetch(`${server.server.url}/v1/agents/event?follow=true`, {
      headers: { ...browsers[0]?.headers, accept: 'application/x-ndjson' },
    })
    expect(stream.status).toBe(200)
    if (how === 'revoke') await server.ask('DELETE', `/v1/agents/key/${key_id}`)
    else if (how === 'expire') passedMs += 60_000
    else await server.ask('POST', `/v1/agents/key/${key_id}/rotate`, { json: { overlap_secs: 0 } })
    for (const { ask } of browsers) expect((await ask('GET', '/v1/agents/whoami')).status).toBe(401)
    await expect(stream.text()).rejects.toThrow()
  })

  test('ends by signing out, with its streams, and other sessions of the key continue', async () => {
    const server = await startTestServer()
    const [left, other] = [await signIn(server), await signIn(server)]
    const stream = await fetch(`${server.server.url}/v1/agents/event?follow=true`, {
      headers: { ...left.headers, accept: 'application/x-ndjson' },
    })
    const out = await left.ask('DELETE', `/console/session/${left.keyId}`)
    expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('Max-Age=0')])
    expect(out.headers.get('clear-site-data')).toBe('"storage"')
    expect(left.signedIn.headers.get('clear-site-data')).toBeNull()
    expect((await left.ask('GET', '/v1/agents/whoami')).status).toBe(401)
    expect((await other.ask('GET', '/v1/agents/whoami')).status).toBe(200)
    await expect(stream.text()).rejects.toThrow()
  })

  test('of several projects are listed together, and each request names its key', async () => {
    const server = await startTestServer()
    const { project_id } = (await server.ask('POST', '/v1/agents/project', { json: { name: 'second' } })).json
    const made = await server.ask('POST', '/v1/agents/key', {
      json: { name: 'of-second', scopes: ['admin'], project: project_id },
    })
    const [first, second] = [await signIn(server), await signIn(server, made.json.key)]
    const third = await server.makeKey('runtime:read')
    const others = `holt_console_${third.key_id}=${'x'.repeat(43)}; holt_console_ky${'a'.repeat(20)}=${'x'.repeat(43)}`
    const cookie = `${first.cookie}; ${second.cookie}; ${others}`
    const list = await first.ask('GET', '/console/session', { headers: { cookie } })
    expect(list.json.sessions.map((each: { project_name: string }) => each.project_name)).toEqual(['default', 'second'])
    expect(list.headers.get('set-cookie')).toContain(`holt_console_${third.key_id}=; Max-Age=0`)
    // Another service on another port of this host has set that one.
    expect(list.headers.get('set-cookie')).not.toContain('aaaa')
    for (const { keyId, session } of [first, second]) {
      const answer = await first.ask('GET', '/v1/agents/whoami', {
        headers: { cookie, 'x-holt-console': `${keyId}.${page}` },
      })
      expect(answer.json.project.name).toBe(session.project_name)
    }
  })
})

/** Returns the console's entries of the audit log, and how often keys were wrong. */
async function auditOf({ ask }: TestServer) {
  const { data } = (await ask('GET', '/v1/agents/audit?project=all&limit=100')).json
  const entries = data as { kind: string; route: string | null; count: number; key: { key_id: string } | null }[]
  const wrong = entries.filter(({ kind }) => kind === 'auth_failed')
  return {
    routes: entries.flatMap(({ route, key }) => (route?.startsWith('console.') ? [`${route} ${key?.key_id}`] : [])),
    wrong: wrong.reduce((sum, { count }) => sum + count, 0),
  }
}

test('sign-ins, sign-outs and links are in the audit log, and a session that ended is no wrong key', async () => {
  const server = await startTestServer()
  const { code } = (await server.ask('POST', '/console/link')).json
  const { ask, keyId } = await signIn(server)
  await ask('DELETE', `/console/session/${keyId}`)
  for (let count = 0; count < 3; count += 1) expect((await ask('GET', '/v1/agents/whoami')).status).toBe(401)
  expect((await ask('DELETE', `/console/session/${keyId}`)).status).toBe(204)
  const headers = { 'x-holt-console': page, 'x-holt-link-code': `${code}x`, origin: server.server.url }
  expect((await server.ask('POST', '/console/session', { key: null, headers })).status).toBe(401)
  const made = ['makeLink', 'signIn', 'signOut'].map((name) => `console.${name} ${keyId}`)
  // Both are written soon after the answers. Only the wrong code is a wrong key.
  await expect
    .poll(async () => auditOf(server), { timeout: 20_000 })
    .toEqual({ routes: expect.arrayContaining(made), wrong: 1 })
  expect((await auditOf(server)).routes.length).toBe(made.length)
})

describe('a cookie alone', () => {
  test.each([
    ['without a token', (keyId: string) => keyId],
    ['with the token of another origin', (keyId: string) => `${keyId}.${otherPage}`],
    ['with a token for another key', () => `ky${'a'.repeat(20)}.${page}`],
  ])('is worthless %s: a browser sends it to every port of a host', async (_, value) => {
    const server = await startTestServer()
    const { ask, keyId } = await signIn(server)
    const headers = { 'x-holt-console': value(keyId) }
    expect((await ask('GET', '/v1/agents/whoami', { headers })).status).toBe(401)
    const stolen = await ask('GET', '/console/session', { headers: { 'x-holt-console': otherPage } })
    expect(stolen.json.sessions).toEqual([])
    expect((await ask('GET', '/console/session', { headers: { 'x-holt-console': '1' } })).status).toBe(403)
    expect(
      (await ask('DELETE', `/console/session/${keyId}`, { headers: { 'x-holt-console': otherPage } })).status,
    ).toBe(204)
    expect((await ask('GET', '/v1/agents/whoami')).status).toBe(200)
  })

  test('is not used without the header of the console', async () => {
    const server = await startTestServer()
    const { cookie } = await signIn(server)
    expect((await server.ask('GET', '/v1/agents/whoami', { key: null, headers: { cookie } })).status).toBe(401)
  })

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a page of a port', { 'sec-fetch-site': 'same-site' }],
    ['a typed address', { 'sec-fetch-site': 'none' }],
    ['another origin', { origin: 'http://evil.example' }],
    ['another port of this host', { origin: 'http://127.0.0.1:1' }],
    ['a sandboxed page', { origin: 'null' }],
    ['a page of a port by its host', { origin: 'http://3000-rt11111111111111111111.localhost:4658' }],
  ])('is refused from %s', async (_, foreign) => {
    const server = await startTestServer()
    const { headers, keyId } = await signIn(server)
    const requests = [
      ['GET', '/v1/agents/whoami'],
      ['POST', '/v1/agents/runtime'],
      ['GET', '/console/session'],
      ['POST', '/console/session'],
      ['DELETE', `/console/session/${keyId}`],
    ] as const
    for (const [method, path] of requests)
      expect(await statusOf(server.server.url + path, method, { ...headers, ...foreign })).toBe(403)
    expect(await statusOf(`${server.server.url}/v1/agents/whoami`, 'GET', headers)).toBe(200)
  })

  test('is refused for a change without Origin, which browsers always send', async () => {
    const server = await startTestServer()
    const { origin: _, ...headers } = (await signIn(server)).headers
    expect(await statusOf(`${server.server.url}/v1/agents/runtime`, 'POST', headers)).toBe(403)
  })

  test('is refused if two cookies claim the session of one key', async () => {
    const server = await startTestServer()
    const { ask, cookie, keyId } = await signIn(server)
    const tossed = `${cookie}; holt_console_${keyId}=${'x'.repeat(43)}`
    expect((await ask('GET', '/v1/agents/whoami', { headers: { cookie: tossed } })).status).toBe(401)
  })

  test('opens no WebSocket for another origin', async () => {
    const server = await startTestServer()
    const { cookie, keyId } = await signIn(server)
    const { hostname, port, host, origin } = new URL(server.server.url)
    const handshake = async (sent: string) => {
      const socket = connect(Number(port), hostname)
      const path = `/v1/agents/runtime/rt${'a'.repeat(20)}/commands/cm${'a'.repeat(20)}/attach`
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${sent}Cookie: ${cookie}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\nSec-WebSocket-Protocol: holt.attach.v1, holt.console.${keyId}.${page}\r\n\r\n`,
      )
      const [first] = await new Promise<[Buffer]>((resolve) => socket.once('data', (data) => resolve([data])))
      socket.destroy()
      return Number(first.toString().split(' ')[1])
    }
    expect(await handshake('')).toBe(403)
    expect(await handshake('Origin: http://evil.example\r\n')).toBe(403)
    // The runtime does not exist, which only an admitted client learns.
    expect(await handshake(`Origin: ${origin}\r\n`)).toBe(404)
  })

  test('is no key for /mcp and for ports', async () => {
    const server = await startTestServer()
    const id = await server.makeRuntime()
    const { ask } = await signIn(server)
    expect((await ask('POST', '/mcp', { json: {} })).status).toBe(401)
    expect((await ask('GET', `/v1/agents/runtime/${id}/ports/3000/proxy/`)).status).toBe(401)
  })
})

describe('a link', () => {
  test('signs in once', async () => {
    const server = await startTestServer()
    const { code } = (await server.ask('POST', '/console/link')).json
    const origin = server.server.url
    const open = () =>
      server.ask('POST', '/console/session', {
        key: null,
        headers: { 'x-holt-console': page, 'x-holt-link-code': code, origin },
      })
    const opened = await open()
    expect([opened.status, opened.json.project_name]).toEqual([201, 'default'])
    const again = await open()
    expect([again.status, again.json.error.hint]).toEqual([401, 'Run holt console again.'])
  })

  test.each(['the key is revoked', 'a minute has passed'])('does not sign in after %s', async (when) => {
    let passedMs = 0
    const server = await startTestServer({ now: () => Date.now() + passedMs })
    const { key, key_id } = await server.makeKey('runtime:read')
    const { code } = (await server.ask('POST', '/console/link', { key })).json
    if (when === 'a minute has passed') passedMs += 60_000
    else await server.ask('DELETE', `/v1/agents/key/${key_id}`)
    const headers = { 'x-holt-console': page, 'x-holt-link-code': code, origin: server.server.url }
    expect((await server.ask('POST', '/console/session', { key: null, headers })).status).toBe(401)
  })

  test('of one project displaces none of another', () => {
    const codes = new LinkCodes(() => 0)
    const grant = { keyId: 'ky1', keyName: 'one', keyVersion: 1, scopes: new Set<never>() }
    const { code } = codes.make({ ...grant, projectId: 'pj1' })
    const flood = Array.from({ length: 2000 }, () => codes.make({ ...grant, projectId: 'pj2' }).code)
    expect(flood.filter((each) => codes.take(each) !== null).length).toBe(32)
    expect(codes.take(code)?.projectId).toBe('pj1')
  })

  test('is made with a key, never with a session', async () => {
    const { ask } = await signIn(await startTestServer())
    expect((await ask('POST', '/console/link')).status).toBe(401)
  })
})

test('without the console there is no session', async () => {
  const first = await startTestServer()
  const { headers } = await signIn(first)
  const settings = { HOLT_STATE_DIR: first.stateDir, HOLT_PORT: '0', HOLT_POOL_MAX: '0', HOLT_CONSOLE: '0' }
  const config = { ...parseConfig(settings), ...(await testDatabase(first.stateDir)) }
  const server = await first.restart({ config })
  expect((await server.ask('GET', '/v1/agents/whoami', { key: null, headers })).status).toBe(401)
  for (const [method, path] of [
    ['POST', '/console/session'],
    ['POST', '/console/link'],
    ['GET', '/console/'],
  ] as const)
    expect((await server.ask(method, path)).status).toBe(404)
})
