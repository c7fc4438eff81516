import { expect, test, vi } from 'vitest'
import { beatsOf, hostRow, pass, startHost, type TestHost } from '../../support/fleet.ts'
import { fleetStores } from '../../support/fleet-stores.ts'

const path = '/v1/agents/runtime'

const stateOf = async ({ server }: TestHost, id: string) => (await server.ask('GET', `${path}/${id}`)).json

/** Asks a host that is fenced. Its first look at the lease resets the connection of the request. */
function askFenced({ server }: TestHost, ...request: Parameters<TestHost['server']['ask']>) {
  return server.ask(...request).catch(() => server.ask(...request))
}

test.each(fleetStores)('over %s a host compares its engine with its own rows alone', async (_, open) => {
  const store = await open()
  const one = await startHost(store)
  const id = await one.server.makeRuntime()
  const two = await startHost(store)
  expect(await stateOf(two, id)).toMatchObject({ state: 'running', state_reason: null })
  await (await two.restart()).server.close()
  expect(await stateOf(one, id)).toMatchObject({ state: 'running' })
  expect(await one.engine.inspect(id)).not.toBeNull()
  expect((await hostRow(store, two)).epoch).toBe(3)
  // A request for a runtime of another host is served by that one.
  const three = await startHost(store)
  expect((await three.server.ask('DELETE', `${path}/${id}`)).status).toBe(204)
  expect(await one.engine.inspect(id)).toBeNull()
})

test.each(fleetStores)('over %s a silent host is fenced, and lost afterwards', async (_, open) => {
  const store = await open()
  const [one, two] = [await startHost(store), await startHost(store)]
  const [running, paused, doomed] = [
    await one.server.makeRuntime(),
    await one.server.makeRuntime(),
    await one.server.makeRuntime(),
  ]
  expect((await one.server.ask('POST', `${path}/${paused}/pause`)).status).toBe(200)
  const mine = await two.server.makeRuntime()
  const all = { store, hosts: [one, two], beating: [two] }
  one.cable.isCut = true
  await pass(40_000, all)
  expect(await stateOf(two, running)).toMatchObject({ state: 'running', state_reason: { code: 'host_unreachable' } })
  const refused = await two.server.ask('DELETE', `${path}/${doomed}`)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
  expect(refused.json.error.details).toMatchObject({ reason: 'host_unreachable' })

  await pass(210_000, all)
  // The lease is over, and the verdict has not come.
  expect((await askFenced(one, 'POST', path, { json: {} })).json.error.details).toEqual({ reason: 'host_fenced' })
  expect((await one.server.ask('GET', '/readyz', { key: null })).status).toBe(503)
  expect((await hostRow(store, one)).state).toBe('ready')
  expect(await stateOf(two, running)).toMatchObject({ state: 'running' })

  await pass(70_000, all)
  await vi.waitUntil(async () => (await stateOf(two, running)).state === 'failed', { timeout: 20_000 })
  expect(await stateOf(two, running)).toMatchObject({ state_reason: { code: 'host_lost' } })
  expect((await two.server.ask('DELETE', `${path}/${doomed}`)).status).toBe(204)
  expect(await stateOf(two, paused)).toMatchObject({ state: 'paused', state_reason: { code: 'host_unreachable' } })
  expect(await stateOf(two, mine)).toMatchObject({ state: 'running', state_reason: null })
  expect((await hostRow(store, one)).state).toBe('lost')

  // The host is back: it learns of the verdict, and nothing of the judged epoch is its own.
  one.cable.isCut = false
  await vi.waitUntil(() => one.overs.length === 1, { timeout: 20_000 })
  expect((await one.server.ask('POST', path, { json: {} })).status).toBe(503)
  const again = await one.restart()
  expect((await hostRow(store, one)).state).toBe('ready')
  await vi.waitUntil(async () => (await again.engine.inspect(running)) === null, { timeout: 20_000 })
  expect(await stateOf(again, paused)).toMatchObject({ state: 'paused', state_reason: null })
  expect((await again.server.ask('POST', `${path}/${paused}/resume`)).json.state).toBe('running')
})

test('a host that reaches the fleet again before a verdict continues', async () => {
  const [[, open]] = fleetStores as [(typeof fleetStores)[number]]
  const store = await open()
  const [one, two] = [await startHost(store), await startHost(store)]
  const id = await one.server.makeRuntime()
  one.cable.isCut = true
  await pass(250_000, { store, hosts: [one, two], beating: [two] })
  expect((await askFenced(one, 'POST', path, { json: {} })).status).toBe(503)
  one.cable.isCut = false
  await beatsOf(store, one)
  expect(await stateOf(one, id)).toMatchObject({ state: 'running', state_reason: null })
  expect((await one.server.ask('POST', path, { json: {} })).status).toBe(201)
  expect(one.overs).toEqual([])
})

test('a host that an operator has forgotten does not start', async () => {
  const [[, open]] = fleetStores as [(typeof fleetStores)[number]]
  const store = await open()
  const one = await startHost(store)
  await store.db.updateTable('hosts').set({ state: 'gone', wanted: 'gone' }).execute()
  await expect(one.restart()).rejects.toThrow('the fleet has forgotten this host')
})
