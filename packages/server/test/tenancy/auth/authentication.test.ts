import { type Route, routes } from '@holt/protocol'
import { describe, expect, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

const guarded = Object.entries<Route>(routes).filter(([, { scope }]) => scope !== null)
const open = Object.entries<Route>(routes).filter(([, { scope }]) => scope === null)
const pathOf = ({ path }: Route) => path.replaceAll('{runtime_id}', `rt${'a'.repeat(20)}`).replaceAll(/\{\w+\}/g, 'x')
const withoutId = (text: string) => text.replace(/rq[a-z0-9]{20}/, '')

describe('every route with a scope', () => {
  test('refuses a missing key and an unknown one with 401 and without details', async () => {
    const { ask } = await startTestServer()
    const messages = new Set<string>()
    for (const [, route] of guarded) {
      for (const authorization of [
        undefined,
        '',
        'Bearer',
        'Bearer ',
        'Bearer holt_wrong',
        'Basic YTpi',
        `Bearer ${'x'.repeat(5000)}`,
        'Bearer a b',
        'Bearer \u00e9',
      ]) {
        const answer = await ask(route.method, pathOf(route), {
          key: null,
          headers: authorization === undefined ? {} : { authorization },
        })
        expect(answer.status).toBe(401)
        expect(answer.headers.get('www-authenticate')).toBe('Bearer')
        messages.add(`${authorization === 'Bearer holt_wrong'}: ${withoutId(answer.text)}`)
      }
    }
    expect([...messages].map((text) => text.replace(/^(\w+): .*"message":"([^"]*)".*$/, '$1: $2')).toSorted()).toEqual([
      'false: The request has no API key.',
      'true: The API key is not known here.',
    ])
  })

  test('refuses a key without its scope, and names the scope', async () => {
    const { ask, makeKey } = await startTestServer()
    for (const [, route] of guarded.filter(([, { scope }]) => scope !== 'any')) {
      const others = (['runtime:read', 'runtime:write', 'template:read'] as const).filter(
        (scope) => scope !== route.scope,
      )
      const { key } = await makeKey(...others)
      const answer = await ask(route.method, pathOf(route), { key })
      expect([answer.status, answer.json.error.code, answer.json.error.details.scope]).toEqual([
        403,
        'forbidden',
        route.scope,
      ])
    }
  })

  test('accepts its scope and admin', async () => {
    const { ask, makeKey } = await startTestServer()
    for (const [, route] of guarded) {
      const scopes =
        route.scope === 'any'
          ? ['runtime:read']
          : route.scope === 'operator'
            ? ['operator']
            : [route.scope ?? '', 'admin']
      for (const scope of scopes) {
        const { key } = await makeKey(scope)
        expect([401, 403]).not.toContain((await ask(route.method, pathOf(route), { key })).status)
      }
    }
  })
})

test('routes without a scope need no key', async () => {
  const { ask } = await startTestServer()
  // The documentation is below `/docs/`.
  for (const [name, { method, path }] of open)
    expect((await ask(method, path, { key: null })).status).toBe(name === 'docs' ? 308 : 200)
})

describe('a key', () => {
  test('is refused once it is revoked, and the last admin key cannot be revoked', async () => {
    const { ask, makeKey } = await startTestServer()
    const { key, key_id } = await makeKey('runtime:read')
    expect((await ask('GET', '/v1/agents/runtime', { key })).status).toBe(200)
    expect((await ask('DELETE', `/v1/agents/key/${key_id}`)).status).toBe(204)
    expect((await ask('GET', '/v1/agents/runtime', { key })).status).toBe(401)
    expect((await ask('DELETE', `/v1/agents/key/${key_id}`)).json.error.code).toBe('key_not_found')
    const [admin] = (await ask('GET', '/v1/agents/key')).json.data
    expect((await ask('DELETE', `/v1/agents/key/${admin.key_id}`)).json.error.code).toBe('conflict')
  })

  test('is refused after its expiry', async () => {
    let now = Date.now()
    const { ask } = await startTestServer({ now: () => now })
    const expires_at = new Date(now + 60_000).toISOString()
    const { key } = (await ask('POST', '/v1/agents/key', { json: { name: 'short', expires_at } })).json
    expect((await ask('GET', '/v1/agents/runtime', { key })).status).toBe(200)
    now += 60_000
    const refused = await ask('GET', '/v1/agents/runtime', { key })
    expect([refused.status, refused.json.error]).toMatchObject([
      401,
      {
        code: 'unauthenticated',
        message: `The API key ${key.slice(0, 12)}... expired at ${expires_at}.`,
        details: { expired_at: expires_at },
      },
    ])
    // Known by its first characters alone, it is one that never was.
    const guessed = `${key.slice(0, 12)}${'a'.repeat(33)}`
    expect((await ask('GET', '/v1/agents/runtime', { key: guessed })).json.error).toMatchObject({
      message: `The API key ${key.slice(0, 12)}... is not known here.`,
    })
    expect(
      (await ask('POST', '/v1/agents/key', { json: { name: 'past', expires_at } })).json.error.details.issues[0]
        .pointer,
    ).toBe('/expires_at')
  })

  test('that was revoked or replaced is the same as an unknown one, even after its expiry', async () => {
    let now = Date.now()
    const { ask } = await startTestServer({ now: () => now })
    const make = async (name: string) => {
      const expires_at = new Date(now + 60_000).toISOString()
      return (await ask('POST', '/v1/agents/key', { json: { name, expires_at } })).json
    }
    const [revoked, replaced] = [await make('revoked'), await make('replaced')]
    await ask('DELETE', `/v1/agents/key/${revoked.key_id}`)
    await ask('POST', `/v1/agents/key/${replaced.key_id}/rotate`, { json: { overlap_secs: 0 } })
    for (const afterMs of [0, 60_000]) {
      now += afterMs
      for (const { key } of [revoked, replaced]) {
        const { error } = (await ask('GET', '/v1/agents/runtime', { key })).json
        expect([error.message, error.details]).toEqual([
          `The API key ${key.slice(0, 12)}... is not known here.`,
          undefined,
        ])
      }
    }
  })

  test('is shown once and listed without its secret', async () => {
    const { ask, makeKey } = await startTestServer()
    const { key, key_id } = await makeKey('template:read')
    expect(key).toMatch(/^holt_[a-z0-9]{40}$/)
    const { text, json } = await ask('GET', '/v1/agents/key')
    expect(text).not.toContain(key)
    expect(json.data[0]).toMatchObject({ key_id, scopes: ['template:read'], prefix: key.slice(0, 12) })
  })

  test('updates its last use at most once a minute', async () => {
    let now = Date.parse('2026-01-01T00:00:00Z')
    const { ask } = await startTestServer({ now: () => now })
    const lastUsed = async () => (await ask('GET', '/v1/agents/key')).json.data[0].last_used_at
    // It is written beside the request that it notes.
    await expect.poll(lastUsed).toBe('2026-01-01T00:00:00.000Z')
    now += 59_000
    expect(await lastUsed()).toBe('2026-01-01T00:00:00.000Z')
    now += 2_000
    await expect.poll(lastUsed).toBe('2026-01-01T00:01:01.000Z')
  })

  test('that is revoked loses its open streams', async () => {
    const { server, ask, makeKey, makeRuntime } = await startTestServer()
    const { key, key_id } = await makeKey('runtime:read', 'runtime:write')
    const commands = `/v1/agents/runtime/${await makeRuntime()}/commands`
    const { command_id } = (await ask('POST', commands, { json: { command: 'sleep', background: true } })).json
    const response = await fetch(`${server.url}${commands}/${command_id}/output?follow=true`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const reading = response.text()
    await ask('DELETE', `/v1/agents/key/${key_id}`)
    await expect(reading).rejects.toThrow()
  })

  test('that is revoked loses its waiting command and its upload', async () => {
    const { server, ask, makeKey, makeRuntime } = await startTestServer()
    const { key, key_id } = await makeKey('runtime:read', 'runtime:write')
    const runtime = `/v1/agents/runtime/${await makeRuntime()}`
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ command: 'sleep', timeout_secs: 0 })
    const waiting = fetch(`${server.url}${runtime}/commands`, { method: 'POST', headers, body })
    const upload = fetch(`${server.url}${runtime}/files/content?path=/tmp/endless`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${key}` },
      body: new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('begun')) }),
      duplex: 'half',
    } as RequestInit)
    const ends = Promise.allSettled([waiting, upload])
    await expect.poll(async () => (await ask('GET', `${runtime}/commands`)).json.data.length).toBe(1)
    // Those two, and the request that asks.
    await expect.poll(async () => (await ask('GET', '/metrics')).text).toMatch(/^holt_http_requests_open(?:\{\})? 3$/m)
    await ask('DELETE', `/v1/agents/key/${key_id}`)
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect((await ask('GET', `${runtime}/files/stat?path=/tmp/endless`)).status).toBe(404)
  })

  test('that expires loses its open streams', async () => {
    let now = Date.now()
    const { server, ask, makeRuntime } = await startTestServer({ now: () => now })
    const { key } = (
      await ask('POST', '/v1/agents/key', { json: { name: 'short', expires_at: new Date(now + 60_000).toISOString() } })
    ).json
    const commands = `/v1/agents/runtime/${await makeRuntime()}/commands`
    const response = await fetch(`${server.url}${commands}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ command: 'sleep', timeout_secs: 0 }),
    })
    const reading = response.text()
    now += 60_000
    await expect(reading).rejects.toThrow()
  })
})
