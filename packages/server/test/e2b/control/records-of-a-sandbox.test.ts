import { expect, test } from 'vitest'
import { type E2bServer, startE2bServer } from '../../support/e2b-server.ts'

async function make(server: E2bServer): Promise<string> {
  return (await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })).json.sandboxID
}

test('a new sandbox has metrics at once, in bytes and percent', async () => {
  const server = await startE2bServer()
  const id = await make(server)
  const { status, json } = await server.e2b('GET', `/sandboxes/${id}/metrics`)
  expect(status).toBe(200)
  const { memory_mib, disk_mib } = (await server.ask('GET', `/v1/agents/runtime/${id}`)).json
  expect(json.at(-1)).toEqual({
    timestamp: expect.stringMatching(/Z$/),
    timestampUnix: expect.any(Number),
    cpuCount: expect.any(Number),
    cpuUsedPct: expect.any(Number),
    memUsed: expect.any(Number),
    memTotal: memory_mib * 2 ** 20,
    memCache: 0,
    diskUsed: expect.any(Number),
    diskTotal: disk_mib * 2 ** 20,
  })
  const past = await server.e2b('GET', `/sandboxes/${id}/metrics?start=1&end=2`)
  expect(past.json).toEqual([])
  const several = (await server.e2b('GET', `/sandboxes/metrics?sandbox_ids=${id},rtx`)).json
  expect(Object.keys(several.sandboxes)).toEqual([id])
})

test('the log of a sandbox has what happened to it', async () => {
  const server = await startE2bServer()
  const id = await make(server)
  await server.e2b('POST', `/sandboxes/${id}/pause`)
  const entries = (await server.e2b('GET', `/v2/sandboxes/${id}/logs`)).json.logs
  const messages = entries.map(({ message }: { message: string }) => message)
  expect(messages).toContain('runtime.paused')
  for (const entry of entries) for (const value of Object.values(entry.fields)) expect(typeof value).toBe('string')
  const newest = (await server.e2b('GET', `/v2/sandboxes/${id}/logs?direction=backward&limit=1`)).json.logs
  expect(newest).toEqual([entries.at(-1)])
  const found = (await server.e2b('GET', `/v2/sandboxes/${id}/logs?search=paused`)).json.logs
  expect(found.map(({ message }: { message: string }) => message)).toEqual(['runtime.paused'])
  const old = (await server.e2b('GET', `/sandboxes/${id}/logs`)).json
  expect(old.logEntries).toEqual(entries)
  expect(old.logs.map(({ line }: { line: string }) => JSON.parse(line).message)).toEqual(messages)
})

test('the log of a sandbox with many events is read to its end', { timeout: 120_000 }, async () => {
  const server = await startE2bServer()
  const id = await make(server)
  const change = () => server.e2b('POST', `/sandboxes/${id}/timeout`, { json: { timeout: 600 } })
  for (let round = 0; round < 11; round += 1) await Promise.all(Array.from({ length: 100 }, change))
  await server.e2b('POST', `/sandboxes/${id}/pause`)
  const logs = async (query: string) => (await server.e2b('GET', `/v2/sandboxes/${id}/logs?${query}`)).json.logs
  const [paused] = await logs('direction=backward&limit=1')
  expect(paused.message).toBe('runtime.paused')
  expect(await logs('search=paused')).toEqual([paused])
  const last = (await logs(`cursor=${Date.parse(paused.timestamp)}`)).at(-1)
  expect(last).toEqual(paused)
  const { logEntries } = (await server.e2b('GET', `/sandboxes/${id}/logs?start=${Date.parse(paused.timestamp)}`)).json
  expect(logEntries.at(-1)).toEqual(paused)
  const created = await logs('direction=backward&search=starting')
  expect(created).toHaveLength(1)
  expect(await logs('')).toHaveLength(1000)
})

test('a fork answers each child, with tokens of its own', async () => {
  const server = await startE2bServer()
  const made = (await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base', metadata: { a: 'b' } } })).json
  const { status, json } = await server.e2b('POST', `/sandboxes/${made.sandboxID}/fork`, { json: { count: 2 } })
  expect([status, json.length]).toEqual([201, 2])
  const tokens = new Set(
    [made, ...json.map(({ sandbox }: { sandbox: object }) => sandbox)].map((one) => one.envdAccessToken),
  )
  expect(tokens.size).toBe(3)
  const child = (await server.e2b('GET', `/sandboxes/${json[0].sandbox.sandboxID}`)).json
  expect(child.metadata).toEqual({ a: 'b' })
  expect(json[0].sandbox.trafficAccessToken).toBeNull()
})

test('snapshots have names, pages and one way to end', async () => {
  const server = await startE2bServer()
  const id = await make(server)
  const take = (json?: object) => server.e2b('POST', `/sandboxes/${id}/snapshots`, json === undefined ? {} : { json })
  expect(await take({ name: 'one:default' })).toMatchObject({ status: 201, json: { names: ['one'] } })
  expect(await take({ memory: false })).toMatchObject({ status: 201, json: { names: [] } })
  expect(await take({ name: 'one' })).toMatchObject({ status: 409, json: { code: 409 } })
  expect(await take({ name: 'one:two' })).toMatchObject({ status: 400, json: { code: 400 } })
  const first = await server.e2b('GET', '/snapshots?limit=1')
  const second = await server.e2b('GET', `/snapshots?limit=1&nextToken=${first.headers['x-next-token']}`)
  expect([...first.json, ...second.json].map(({ names }) => names)).toEqual([[], ['one']])
  expect(second.headers['x-next-token']).toBeUndefined()
  expect((await server.e2b('GET', '/snapshots?name=one')).json).toHaveLength(1)
  expect((await server.e2b('DELETE', '/templates/one')).status).toBe(204)
  expect((await server.e2b('DELETE', '/templates/one')).status).toBe(404)
})

test('names of templates are found, with what clients call them', async () => {
  const server = await startE2bServer()
  for (const name of ['base', 'base-small', 'default%2Fbase-small']) {
    const { status, json } = await server.e2b('GET', `/templates/aliases/${name}`)
    expect([status, json]).toEqual([200, { templateID: expect.stringMatching(/^tm/), public: true }])
  }
  expect((await server.e2b('GET', '/templates/aliases/nope')).json).toMatchObject({ code: 404 })
  expect((await server.e2b('DELETE', '/templates/base-small')).json).toMatchObject({ code: 409 })
})
