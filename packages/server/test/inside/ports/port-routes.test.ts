import { expect, test } from 'vitest'
import { startPortServer } from '../../support/port-visitor.ts'

test('a port is private, and its answer has the addresses and the token', async () => {
  const { get, id, server, program } = await startPortServer()
  program(3000, (_, response) => response.end('hi'))
  const found = await get(3000)
  const { port } = new URL(server.url)
  expect(found).toMatchObject({
    runtime_id: id,
    port: 3000,
    public: false,
    listening: true,
    url: `http://3000-${id}.localhost:${port}/`,
    path_url: `${server.url}/v1/agents/runtime/${id}/ports/3000/proxy/`,
  })
  const left = Date.parse(found.expires_at) - Date.now()
  expect(left).toBeGreaterThan(23 * 3600 * 1000)
  expect(left).toBeLessThanOrEqual(24 * 3600 * 1000)
  expect(Date.parse((await get(3000, '?expires_in_secs=60')).expires_at) - Date.now()).toBeLessThanOrEqual(60_000)
})

test('a request can wait for a port', async () => {
  const { get, program } = await startPortServer()
  expect((await get(3000, '?wait_secs=0.02')).listening).toBe(false)
  const waiting = get(3000, '?wait_secs=60')
  program(3000, (_, response) => response.end())
  expect((await waiting).listening).toBe(true)
})

test('a public port is listed, and shown in the runtime', async () => {
  const { ask, port, id, program } = await startPortServer()
  program(3000, (_, response) => response.end())
  expect((await ask('PATCH', port(8080), { json: { public: true } })).json).toMatchObject({ port: 8080, public: true })
  expect((await ask('GET', `/v1/agents/runtime/${id}`)).json.ports).toEqual([{ port: 8080, public: true }])
  expect((await ask('GET', `/v1/agents/runtime/${id}/ports`)).json.data).toEqual([
    { port: 3000, public: false, listening: true },
    { port: 8080, public: true, listening: false },
  ])
  await ask('PATCH', port(8080), { json: { public: false } })
  expect((await ask('GET', `/v1/agents/runtime/${id}`)).json.ports).toEqual([])
})

test.each(['0', '02280', '+2280', '-1', '65536', '%EF%BC%92%EF%BC%92', '2280%20', '1e3', 'http'])(
  'the port %s is 400 on every route',
  async (text) => {
    const { ask, port, byPath, byHost, hostOf } = await startPortServer()
    for (const path of ['', '/rotate']) {
      const answer = await ask(path === '' ? 'GET' : 'POST', port(text) + path)
      expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_request'])
      expect(answer.json.error.details.issues[0].pointer).toBe('/path/port')
    }
    expect(await byPath(text, '/')).toMatchObject({ status: 400, code: 'invalid_request' })
    if (!text.includes('%'))
      expect(await byHost(hostOf(text), '/')).toMatchObject({ status: 400, code: 'invalid_request' })
  },
)

test('a port in non-ASCII digits is 400 in the host form', async () => {
  const { byHost, hostOf } = await startPortServer()
  const host = Buffer.from(hostOf('２２８０')).toString('latin1')
  expect(await byHost(host, '/')).toMatchObject({ status: 400, code: 'invalid_request' })
})

test('too many ports are refused, and an ended runtime has none', async () => {
  const { ask, port, id } = await startPortServer()
  for (let number = 1; number <= 256; number += 1) await ask('PATCH', port(number), { json: { public: true } })
  const refused = await ask('PATCH', port(257), { json: { public: true } })
  expect([refused.status, refused.json.error.code]).toEqual([429, 'quota_exceeded'])
  expect((await ask('POST', `${port(1)}/rotate`)).status).toBe(200)
  await ask('DELETE', `/v1/agents/runtime/${id}`)
  expect((await ask('GET', port(1))).json.error.code).toBe('runtime_terminated')
  expect((await ask('PATCH', port(1), { json: { public: true } })).json.error.code).toBe('runtime_terminated')
})

test('a read-only key gets no token', async () => {
  const { ask, port, makeKey, id } = await startPortServer()
  const { key } = await makeKey('runtime:read')
  expect((await ask('GET', `/v1/agents/runtime/${id}/ports`, { key })).status).toBe(200)
  for (const [method, path] of [
    ['GET', port(80)],
    ['POST', `${port(80)}/rotate`],
  ] as const)
    expect((await ask(method, path, { key })).json.error.code).toBe('forbidden')
})
