import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeProject } from '../../support/own-project.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

const keys = '/v1/agents/key'
const runtimes = '/v1/agents/runtime'

const rotate = ({ ask }: Pick<TestServer, 'ask'>, keyId: string, json: object = {}, headers = {}) =>
  ask('POST', `${keys}/${keyId}/rotate`, { json, headers })
const opens = async ({ ask }: Pick<TestServer, 'ask'>, key: string) =>
  (await ask('GET', runtimes, { key })).status === 200

test('both secrets work until the overlap ends, and then only the new one', async () => {
  let now = Date.parse('2026-01-01T00:00:00Z')
  const server = await startTestServer({ now: () => now })
  const first = await server.makeKey('runtime:read')
  const rotated = await rotate(server, first.key_id, { overlap_secs: 60 })
  expect(rotated.json).toMatchObject({
    key_id: first.key_id,
    scopes: ['runtime:read'],
    rotated_at: '2026-01-01T00:00:00.000Z',
    previous_until: '2026-01-01T00:01:00.000Z',
  })
  expect(rotated.json.prefix).toBe(rotated.json.key.slice(0, 12))
  expect([await opens(server, first.key), await opens(server, rotated.json.key)]).toEqual([true, true])
  now += 60_000
  expect([await opens(server, first.key), await opens(server, rotated.json.key)]).toEqual([false, true])
  expect((await server.ask('GET', `${keys}/${first.key_id}`)).json.previous_until).toBeNull()
})

test('without an overlap the earlier secret ends at once, also at a second rotation', async () => {
  const server = await startTestServer()
  const first = await server.makeKey('runtime:read')
  const second = (await rotate(server, first.key_id, { overlap_secs: 600 })).json
  const third = (await rotate(server, first.key_id, { overlap_secs: 600 })).json
  expect([await opens(server, first.key), await opens(server, second.key), await opens(server, third.key)]).toEqual([
    false,
    true,
    true,
  ])
  const fourth = (await rotate(server, first.key_id, { overlap_secs: 0 })).json
  expect([await opens(server, third.key), await opens(server, fourth.key)]).toEqual([false, true])
})

test('streams of a secret are closed when it ends, and those of the new one continue', async () => {
  let now = Date.now()
  const server = await startTestServer({ now: () => now })
  const first = await server.makeKey('runtime:read', 'runtime:write')
  const commands = `${runtimes}/${await server.makeRuntime()}/commands`
  const { command_id } = (await server.ask('POST', commands, { json: { command: 'sleep', background: true } })).json
  const follow = async (key: string) => {
    const controller = new AbortController()
    const response = await fetch(`${server.server.url}${commands}/${command_id}/output?follow=true`, {
      headers: { authorization: `Bearer ${key}` },
      signal: controller.signal,
    })
    const ended = response.text().then(
      () => 'ended',
      () => 'cut',
    )
    return { ended, leave: () => controller.abort() }
  }
  const old = await follow(first.key)
  const { key } = (await rotate(server, first.key_id, { overlap_secs: 60 })).json
  const fresh = await follow(key)
  const quiet = new Promise((resolve) => setTimeout(resolve, 1200, 'open'))
  expect(await Promise.race([old.ended, quiet])).toBe('open')
  now += 60_000
  expect(await old.ended).toBe('cut')
  const later = new Promise((resolve) => setTimeout(resolve, 1200, 'open'))
  expect(await Promise.race([fresh.ended, later])).toBe('open')
  fresh.leave()
})

test('a link to a port is valid as long as the secret that made it', async () => {
  const server = await startTestServer()
  const first = await server.makeKey('runtime:read', 'runtime:write')
  const port = `${runtimes}/${await server.makeRuntime()}/ports/3000`
  const link = async (key: string) => (await server.ask('GET', port, { key })).json.token
  const visit = async (token: string) => {
    const answer = await fetch(`${server.server.url}${port}/proxy/`, { headers: { 'x-holt-port-token': token } })
    await answer.body?.cancel()
    return answer.status
  }
  const old = await link(first.key)
  const { key } = (await rotate(server, first.key_id, { overlap_secs: 600 })).json
  const fresh = await link(key)
  // Nothing listens there: who is let in is told so.
  expect([await visit(old), await visit(fresh)]).toEqual([502, 502])
  await rotate(server, first.key_id, { overlap_secs: 600 })
  expect([await visit(old), await visit(fresh)]).toEqual([401, 502])
})

test('a repeated rotation answers the same secret and keeps the overlap', async () => {
  const server = await startTestServer()
  const first = await server.makeKey('runtime:read')
  const headers = { 'idempotency-key': 'rotate-1' }
  const one = await rotate(server, first.key_id, { overlap_secs: 600 }, headers)
  const two = await rotate(server, first.key_id, { overlap_secs: 600 }, headers)
  expect([two.json.key, two.headers.get('idempotent-replayed')]).toEqual([one.json.key, 'true'])
  expect([await opens(server, first.key), await opens(server, one.json.key)]).toEqual([true, true])
})

test('the key of this machine can be rotated, and clients and the next start use the new secret', async () => {
  const server = await startTestServer()
  const { key_id } = (await server.ask('GET', '/v1/agents/whoami')).json.key
  const { key } = (await rotate(server, key_id, { overlap_secs: 0 })).json
  const read = async () => JSON.parse(await readFile(join(server.stateDir, 'credentials.json'), 'utf8')).key
  expect(await read()).toBe(key)
  const again = await server.restart()
  expect([again.server.adminKey, await read()]).toEqual([key, key])
})

test('an expired key cannot be rotated, and a key of another project is not found', async () => {
  let now = Date.now()
  const server = await startTestServer({ now: () => now })
  const expires_at = new Date(now + 1000).toISOString()
  const { key_id } = (await server.ask('POST', keys, { json: { name: 'short', expires_at } })).json
  const team = await makeProject(server, 'team')
  expect((await rotate(team, key_id)).json.error.code).toBe('key_not_found')
  expect((await team.ask('GET', `${keys}/${key_id}`)).json.error.code).toBe('key_not_found')
  now += 1000
  expect((await rotate(server, key_id)).json.error.code).toBe('conflict')
})
