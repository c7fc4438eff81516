import { makeId } from '@holt/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startHost, type TestHost } from '../../support/fleet.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { openTestStore } from '../../support/test-store.ts'

const path = '/v1/agents/host'

async function startTwo(): Promise<readonly [TestHost, TestHost]> {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  return [await startHost(store), await startHost(store)]
}

/** Returns a host as another one lists it. */
async function listed({ server }: TestHost, hostId: string) {
  const { json } = await server.ask('GET', path)
  return json.data.find((each: { host_id: string }) => each.host_id === hostId)
}

test('each host lists all of its fleet, as they describe themselves', async () => {
  const [one, two] = await startTwo()
  await one.server.makeRuntime()
  const isReady = async () => (await listed(two, one.hostId))?.status === 'ready'
  await vi.waitUntil(isReady, { timeout: 20_000 })
  expect(await listed(two, one.hostId)).toMatchObject({
    engine: 'fake 0.2.0',
    reasons: [],
    fleet: {
      ...{ state: 'ready', wanted: 'ready', silent_secs: null, runtimes: 1, protocol_min: 1, protocol_max: 2 },
      // The store is on this machine: there is no other clock.
      clock_difference_secs: null,
      blockers: [{ blocks: 'removal', code: 'running', message: '1 runtime runs here.' }],
    },
  })
  expect(await listed(two, two.hostId)).toMatchObject({ capacity: { runtimes: {} }, fleet: { runtimes: 0 } })
})

test('a host is cordoned, and ready again', async () => {
  const [one, two] = await startTwo()
  const change = (verb: string) => two.server.ask('POST', `${path}/${one.hostId}/${verb}`)
  const isNow = (state: string) =>
    vi.waitUntil(async () => (await listed(two, one.hostId)).fleet.state === state, { timeout: 20_000 })
  expect((await change('cordon')).status).toBe(204)
  await isNow('cordoned')
  expect(await listed(two, one.hostId)).toMatchObject({ status: 'not_ready', fleet: { wanted: 'cordoned' } })
  expect((await change('cordon')).status).toBe(204)
  expect((await change('uncordon')).status).toBe(204)
  await isNow('ready')
  expect((await change('forget')).json.error.code).toBe('conflict')
})

test('a host whose power is off is lost and forgotten at once', async () => {
  const [one, two] = await startTwo()
  const [running, paused] = [await one.server.makeRuntime(), await one.server.makeRuntime()]
  await one.server.ask('POST', `/v1/agents/runtime/${paused}/pause`)
  const stateOf = async (id: string) => (await two.server.ask('GET', `/v1/agents/runtime/${id}`)).json
  const change = (verb: string, json?: object) => two.server.ask('POST', `${path}/${one.hostId}/${verb}`, { json })
  expect((await change('lost', {})).json.error.message).toContain('The host is heard of')
  one.cable.isCut = true
  expect((await change('lost', { force: true })).status).toBe(204)
  expect((await change('lost', { force: true })).status).toBe(204)
  // The judge carries the verdict out. It was the first host, so the second one takes the duty.
  two.clock.ms += 31_000
  await vi.waitUntil(async () => (await stateOf(running)).state === 'failed', { timeout: 20_000 })
  expect((await stateOf(paused)).state).toBe('paused')
  expect((await change('forget')).status).toBe(204)
  await vi.waitUntil(async () => (await stateOf(paused)).state === 'failed', { timeout: 20_000 })
  expect((await stateOf(paused)).state_reason.code).toBe('host_lost')
  await expect(one.restart()).rejects.toThrow('the fleet has forgotten this host')
})

test('an unknown host, the host itself, and a machine without a fleet are refused', async () => {
  const [one] = await startTwo()
  const unknown = await one.server.ask('POST', `${path}/${makeId('host')}/cordon`)
  expect([unknown.status, unknown.json.error.code]).toEqual([404, 'host_not_found'])
  const itself = await one.server.ask('POST', `${path}/${one.hostId}/lost`, { json: { force: true } })
  expect([itself.status, itself.json.error.code]).toEqual([409, 'conflict'])
  const { ask } = await startTestServer()
  const { host_id, fleet } = (await ask('GET', path)).json.data[0]
  expect(fleet).toBeNull()
  expect((await ask('POST', `${path}/${host_id}/cordon`)).json.error.message).toBe('This machine is in no fleet.')
})
