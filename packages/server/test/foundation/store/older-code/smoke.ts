import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { startTestServer } from '../../../support/start-test-server.ts'
import { newStateDir } from '../../../support/test-store.ts'

const runtimes = '/v1/agents/runtime'

/**
 * Uses a service over a store that other code has made: the file that HOLT_SMOKE_STORE names, or a
 * new store. It calls what a client needs most, and only support that earlier versions have too.
 */
export async function smoke(): Promise<void> {
  const stateDir = await newStateDir()
  const made = process.env.HOLT_SMOKE_STORE
  if (made !== undefined) await copyFile(made, join(stateDir, 'holt.db'))
  const first = await startTestServer({}, stateDir)
  const { ask } = first
  await ask('POST', '/v1/agents/secret', { json: { name: 'api', value: 'hunter22', hosts: ['api.example.com'] } })
  const headers = { 'idempotency-key': 'once' }
  const body = { name: 'one', network_policy: { allow: [{ host: 'api.example.com' }] }, secrets: ['api'] }
  const created = await ask('POST', runtimes, { json: body, headers })
  expect(created.status, created.text).toBe(201)
  expect((await ask('POST', runtimes, { json: body, headers })).json).toEqual(created.json)
  const path = `${runtimes}/${created.json.runtime_id}`
  const echo = (of: typeof first) => of.ask('POST', `${path}/commands`, { json: { argv: ['echo', 'on'] } })
  expect((await echo(first)).json.stdout).toBe('on\n')
  expect((await ask('PUT', `${path}/files/content?path=/tmp/a`, { body: 'bytes' })).status).toBe(201)
  expect((await ask('PATCH', path, { json: { metadata: { a: 'b' } } })).status).toBe(200)
  expect((await ask('POST', `${path}/snapshot`, { json: { name: 'kept' } })).status).toBe(201)
  const copy = (await ask('POST', runtimes, { json: { snapshot: 'kept' } })).json
  expect((await ask('GET', `${runtimes}/${copy.runtime_id}/files/content?path=/tmp/a`)).text).toBe('bytes')
  expect((await ask('POST', `${path}/pause`)).json.state).toBe('paused')
  const second = await first.restart()
  expect((await echo(second)).json.stdout).toBe('on\n')
  const { key, key_id } = await second.makeKey('runtime:read')
  expect((await second.ask('GET', runtimes, { key })).json.data).toHaveLength(2)
  await second.ask('DELETE', `/v1/agents/key/${key_id}`)
  expect((await second.ask('GET', runtimes, { key })).status).toBe(401)
  expect((await second.ask('DELETE', path)).status).toBe(204)
  const { data } = (await second.ask('GET', '/v1/agents/event?limit=100')).json
  expect(data.map(({ type }: { type: string }) => type)).toContain('runtime.terminated')
  await second.close()
}
