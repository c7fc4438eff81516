import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Event } from '@holt/protocol'
import { expect, test } from 'vitest'
import { writeCredentials } from '../../../src/foundation/config/credentials.ts'
import { makeProject } from '../../support/own-project.ts'
import { startTestServer } from '../../support/start-test-server.ts'

type EventOf = Event & { readonly data: { readonly by?: string } }

const keys = '/v1/agents/key'

test('an admin key can grant only its own scopes', async () => {
  const server = await startTestServer()
  const team = await makeProject(server, 'team')
  const make = (scopes: string[], more = {}) => team.ask('POST', keys, { json: { name: 'x', scopes, ...more } })
  expect((await make(['admin', 'runtime:write'])).status).toBe(201)
  const refused = await make(['operator'])
  expect([refused.status, refused.json.error.details]).toEqual([403, { scope: 'operator' }])
  expect((await make(['runtime:read'], { project: 'default' })).status).toBe(403)
  expect((await make(['runtime:read'], { project: 'none' })).status).toBe(403)
  expect((await team.ask('GET', `${keys}?project=default`)).status).toBe(403)
  expect((await team.ask('GET', '/metrics')).status).toBe(403)
})

test('an admin key cannot change an operator key of its project', async () => {
  const server = await startTestServer()
  const operator = (await server.ask('GET', '/v1/agents/whoami')).json.key.key_id
  const { key, key_id } = await server.makeKey('admin')
  for (const [method, path] of [
    ['POST', `${keys}/${operator}/rotate`],
    ['DELETE', `${keys}/${operator}`],
  ] as const) {
    const refused = await server.ask(method, path, { key, json: method === 'POST' ? { overlap_secs: 0 } : undefined })
    expect([refused.status, refused.json.error.details]).toEqual([403, { scope: 'operator' }])
  }
  expect((await server.ask('GET', '/v1/agents/whoami')).json.key.key_id).toBe(operator)
  // Its own kind it may change.
  expect((await server.ask('POST', `${keys}/${key_id}/rotate`, { key, json: {} })).status).toBe(200)
})

test('an operator creates, lists and revokes the keys of every project', async () => {
  const server = await startTestServer()
  const team = await makeProject(server, 'team')
  const { data } = (await server.ask('GET', `${keys}?project=${team.projectId}`)).json
  expect(data.map(({ name, project_id }: Record<string, string>) => [name, project_id])).toEqual([
    ['admin of team', team.projectId],
  ])
  const [{ key_id }] = data
  // The project cannot lock itself out, and an operator may.
  expect((await team.ask('DELETE', `${keys}/${key_id}`)).json.error.code).toBe('conflict')
  expect((await server.ask('DELETE', `${keys}/${key_id}`)).status).toBe(204)
  expect((await team.ask('GET', '/v1/agents/whoami')).status).toBe(401)
  const again = { name: 'again', scopes: ['admin'], project: 'team' }
  const { key } = (await server.ask('POST', keys, { json: again })).json
  expect((await server.ask('GET', '/v1/agents/whoami', { key })).json.project.name).toBe('team')
})

test('events of a project show changes by an operator, without the key', async () => {
  const server = await startTestServer()
  const team = await makeProject(server, 'team')
  const operator = (await server.ask('GET', '/v1/agents/whoami')).json.key.key_id
  const { key_id } = (await team.ask('GET', '/v1/agents/whoami')).json.key
  await server.ask('PATCH', '/v1/agents/project/team', { json: { quotas: { runtimes: 5 } } })
  await server.ask('POST', `${keys}/${key_id}/rotate`, { json: { overlap_secs: 600 } })
  await team.ask('POST', keys, { json: { name: 'own', scopes: ['runtime:read'] } })
  const { json, text } = await team.ask('GET', '/v1/agents/event')
  expect(text).not.toContain(operator)
  const told = json.data.map(({ type, actor, data }: EventOf) => [type, actor.type, data.by])
  expect(told).toEqual([
    ['project.created', 'service', undefined],
    ['key.created', 'service', undefined],
    ['project.updated', 'service', undefined],
    ['key.rotated', 'service', undefined],
    ['key.created', 'key', key_id],
  ])
})

test('any key can read its own identity', async () => {
  const server = await startTestServer()
  const { key, key_id } = await server.makeKey('template:read')
  const { json } = await server.ask('GET', '/v1/agents/whoami', { key })
  expect(json).toMatchObject({ key: { key_id, scopes: ['template:read'] }, project: { name: 'default' } })
  expect(JSON.stringify(json)).not.toContain(key)
})

test('a machine without its key gets a new one at the start of the service', async () => {
  const server = await startTestServer()
  const lost = server.server.adminKey
  await server.close()
  await rm(join(server.stateDir, 'credentials.json'))
  const again = await server.restart()
  expect(again.server.adminKey).not.toBe(lost)
  expect((await again.ask('GET', '/v1/agents/project')).status).toBe(200)
})

test('a machine key with missing scopes is replaced', async () => {
  const server = await startTestServer()
  const { key } = await server.makeKey('admin')
  const stateDir = server.stateDir
  await server.close()
  await writeCredentials(stateDir, { url: 'http://127.0.0.1:1', key })
  const again = await server.restart()
  expect(again.server.adminKey).not.toBe(key)
  expect((await again.ask('GET', '/v1/agents/whoami')).json.key.scopes).toEqual(['admin', 'operator'])
})
