import { expect, test } from 'vitest'
import { startE2bServer } from '../../support/e2b-server.ts'

test('a key counts in any case of its header, and as a bearer', async () => {
  const server = await startE2bServer()
  const key = server.server.adminKey
  for (const headers of [
    { 'X-API-KEY': key },
    { 'x-api-key': key },
    { 'X-Api-Key': key },
    { authorization: `Bearer ${key}` },
  ])
    expect((await server.e2b('GET', '/v2/sandboxes', { key: null, headers })).status).toBe(200)
})

test.each([null, '', 'wrong', 'e2b_0000000000000000000000000000000000000000'])('the key %s is refused', async (key) => {
  const server = await startE2bServer()
  const { status, json } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' }, key })
  expect([status, json.code]).toEqual([401, 401])
})

test('scopes hold as on /v1', async () => {
  const server = await startE2bServer()
  const { key } = await server.makeKey('runtime:read')
  expect((await server.e2b('GET', '/v2/sandboxes', { key })).status).toBe(200)
  const { status, json } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' }, key })
  expect([status, json.code]).toEqual([403, 403])
  expect((await server.e2b('DELETE', '/templates/base-small', { key })).status).toBe(403)
})

test('a key that may only read gets no token of a sandbox', async () => {
  const server = await startE2bServer()
  const { json: made } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })
  const path = `/sandboxes/${made.sandboxID}`
  const { key } = await server.makeKey('runtime:read')
  const read = await server.e2b('GET', path, { key })
  expect(read).toMatchObject({ status: 200, json: { sandboxID: made.sandboxID } })
  expect(read.text).not.toContain(made.envdAccessToken)
  expect((await server.e2b('GET', path)).json.envdAccessToken).toBe(made.envdAccessToken)
})

test('absent abilities say so', async () => {
  const server = await startE2bServer()
  for (const path of ['/volumes', '/volumes/a', '/secrets', '/volumecontent/a/dir'])
    expect((await server.e2b('GET', path)).json).toMatchObject({ code: 501 })
  expect((await server.e2b('GET', '/sandboxes/a/b')).json).toMatchObject({ code: 404 })
  expect((await server.e2b('PATCH', '/sandboxes/a')).json).toMatchObject({ code: 405 })
})

test('a full quota is not worth a repeat, and a rate is', async () => {
  const server = await startE2bServer({ HOLT_PROJECT_QUOTAS: 'runtimes=0,requests_per_sec=1000,request_burst=20' })
  const create = () => server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })
  const full = await create()
  expect([full.status, full.headers['should-retry'], full.headers['retry-after']]).toEqual([429, 'false', undefined])
})

test('changes are in the audit log, with their sandbox', async () => {
  const server = await startE2bServer()
  const { json } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })
  await server.e2b('GET', '/v2/sandboxes')
  await server.e2b('DELETE', `/sandboxes/${json.sandboxID}`)
  const audit = (await server.ask('GET', '/v1/agents/audit')).json.data
  const entries = audit.filter(({ route }: { route: string }) => route?.startsWith('e2b.'))
  expect(entries.map(({ route, subject_id, status }: never) => [route, subject_id, status])).toEqual([
    ['e2b.killSandbox', json.sandboxID, 204],
    ['e2b.createSandbox', json.sandboxID, 201],
  ])
})

test('the key’s project is the one team', async () => {
  const server = await startE2bServer()
  expect((await server.e2b('GET', '/teams')).json).toEqual([
    { teamID: expect.stringMatching(/^pr/), name: 'default', apiKey: 'hidden', isDefault: true },
  ])
})
