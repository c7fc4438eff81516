import { expect, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

test('a key in the form of E2B opens every route, and keeps its form when it is rotated', async () => {
  const { ask } = await startTestServer()
  const body = { name: 'agents', scopes: ['runtime:read'], format: 'e2b' }
  const made = (await ask('POST', '/v1/agents/key', { json: body })).json
  expect(made.key).toMatch(/^e2b_[0-9a-f]{40}$/)
  expect(made.prefix).toBe(made.key.slice(0, 12))
  expect((await ask('GET', '/v1/agents/runtime', { key: made.key })).status).toBe(200)
  const path = `/v1/agents/key/${made.key_id}/rotate`
  const rotated = (await ask('POST', path, { json: { overlap_secs: 0 } })).json
  expect(rotated.key).toMatch(/^e2b_[0-9a-f]{40}$/)
  expect(rotated.key).not.toBe(made.key)
  expect((await ask('GET', '/v1/agents/runtime', { key: made.key })).status).toBe(401)
  expect((await ask('GET', '/v1/agents/runtime', { key: rotated.key })).status).toBe(200)
})

test('an unknown key in the form of E2B is named by its beginning only', async () => {
  const { ask } = await startTestServer()
  const { status, json } = await ask('GET', '/v1/agents/runtime', { key: `e2b_${'0'.repeat(40)}` })
  expect([status, json.error.message]).toEqual([401, 'The API key e2b_00000000... is not known here.'])
})

test.each(['E2B', '', null, 'x'])('the form %s is refused', async (format) => {
  const { ask } = await startTestServer()
  const { status, json } = await ask('POST', '/v1/agents/key', { json: { name: 'a', format } })
  expect([status, json.error.details.issues[0].pointer]).toEqual([400, '/format'])
})
