import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test, vi } from 'vitest'
import { skippingClock } from '../../support/skipping-clock.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'
const unknown = `rt${'a'.repeat(20)}`
const pollTimeout = { timeout: 10_000 }

test('a runtime reports its use and its limits, and no samples without a look', async () => {
  const { ask, makeRuntime, engine, gateway } = await startTestServer()
  const id = await makeRuntime({ network_policy: { allow: [{ host: 'api.example.com' }] } })
  engine.use(id, { cpuUsec: 1_500_000, memoryBytes: 70 * 2 ** 20, diskBytes: 4096 })
  const egress = gateway.of(id)
  if (egress === null) throw new Error('it has no way out')
  egress.traffic = { sent: 12, received: 3400 }
  const { status, json } = await ask('GET', `${path}/${id}/metrics`)
  expect(status).toBe(200)
  expect(json).toMatchObject({
    runtime_id: id,
    state: 'running',
    limits: { cpu: 1, memory_bytes: 2 ** 30, disk_bytes: 4 * 2 ** 30 },
    now: {
      cpu: { used_usec: 1_500_000 },
      memory: { used_bytes: 70 * 2 ** 20 },
      disk: { used_bytes: 4096 },
      processes: 1,
      network: { sent_bytes: 12, received_bytes: 3400 },
    },
    samples: [],
  })
})

test('the rate is that of the time between two readings', async () => {
  const clock = skippingClock()
  const { ask, makeRuntime, engine } = await startTestServer(clock)
  const id = await makeRuntime()
  const rate = async () => (await ask('GET', `${path}/${id}/metrics`)).json.now.cpu.rate
  engine.use(id, { cpuUsec: 1_000_000 })
  await rate()
  clock.skip(4_000)
  engine.use(id, { cpuUsec: 3_000_000 })
  expect(await rate()).toBeCloseTo(0.5, 1)
})

test('a window has the values of each look', async () => {
  const { makeRuntime, engine, restart } = await startTestServer()
  const id = await makeRuntime()
  engine.use(id, { memoryBytes: 5_000_000 })
  // A new process looks at once.
  const { ask } = await restart()
  const samples = async () => (await ask('GET', `${path}/${id}/metrics?window_secs=60&step_secs=20`)).json.samples
  await expect.poll(samples, pollTimeout).toHaveLength(1)
  expect(await samples()).toEqual([
    expect.objectContaining({ memory: { used_bytes: 5_000_000 }, processes: null, cpu: { used_usec: 0, rate: null } }),
  ])
})

test('an unreadable runtime does not stop looks at the others', async () => {
  const engine = new FakeEngine()
  const before = await startTestServer({ engine })
  const ids = [await before.makeRuntime(), await before.makeRuntime(), await before.makeRuntime()]
  const usage = engine.ability('usage')
  if (usage === null) throw new Error('the engine accounts for nothing')
  const read = usage.read.bind(usage)
  let broken: string | null = null
  vi.spyOn(usage, 'read').mockImplementation((id) => {
    broken ??= id // The first that is looked at.
    return id === broken ? Promise.reject(new Error('EIO: i/o error, statfs')) : read(id)
  })
  const { ask, logged } = await before.restart()
  await expect.poll(() => broken, pollTimeout).not.toBeNull()
  for (const id of ids.filter((each) => each !== broken)) {
    const samples = async () => (await ask('GET', `${path}/${id}/metrics?window_secs=60`)).json.samples
    await expect.poll(samples, pollTimeout).toHaveLength(1)
  }
  expect(logged).toContainEqual(expect.objectContaining({ facts: expect.objectContaining({ runtime_id: broken }) }))
})

test('a frozen runtime is read and stays frozen', async () => {
  const { ask, makeRuntime, engine } = await startTestServer()
  const [gvisor, container] = [await makeRuntime(), await makeRuntime({ isolation: 'container' })]
  for (const id of [gvisor, container]) await engine.ability('freezer')?.freeze(id)
  const processes = async (id: string) => (await ask('GET', `${path}/${id}/metrics`)).json.now.processes
  expect(await processes(container)).toBe(1)
  expect((await engine.inspect(container))?.frozen).toBe(true)
  expect((await engine.inspect(gvisor))?.frozen).toBe(true)
})

test('a paused runtime has no use and stays paused', async () => {
  const { ask, makeRuntime } = await startTestServer()
  const id = await makeRuntime()
  await ask('POST', `${path}/${id}/pause`)
  const { status, json } = await ask('GET', `${path}/${id}/metrics?window_secs=60`)
  expect([status, json.state, json.now]).toEqual([200, 'paused', null])
  expect((await ask('GET', `${path}/${id}`)).json.state).toBe('paused')
})

test('an ended runtime has no metrics, and a host without accounting says so', async () => {
  const engine = new FakeEngine()
  const { ask, makeRuntime } = await startTestServer({ engine })
  const id = await makeRuntime()
  const ability = engine.ability.bind(engine)
  engine.ability = (name) => (name === 'usage' ? null : ability(name))
  expect((await ask('GET', `${path}/${id}/metrics`)).json.error.code).toBe('not_supported_here')
  await ask('DELETE', `${path}/${id}`)
  expect((await ask('GET', `${path}/${id}/metrics`)).json.error.code).toBe('runtime_terminated')
})

test('the metrics of many runtimes are those of each, with those that run as the default', async () => {
  const { ask, makeRuntime, engine } = await startTestServer()
  const [first, second, third] = [await makeRuntime(), await makeRuntime(), await makeRuntime()]
  engine.use(second, { memoryBytes: 3_000_000 })
  await ask('POST', `${path}/${third}/pause`)
  const idsOf = (json: { data: { runtime_id: string }[] }) => json.data.map(({ runtime_id }) => runtime_id)
  const all = (await ask('GET', '/v1/agents/metrics?limit=1')).json
  expect([idsOf(all), all.data[0].now.memory.used_bytes]).toEqual([[second], 3_000_000])
  expect(all.data[0].limits).toEqual((await ask('GET', `${path}/${second}/metrics`)).json.limits)
  const next = (await ask('GET', `/v1/agents/metrics?limit=1&cursor=${all.next_cursor}`)).json
  expect([idsOf(next), next.next_cursor]).toEqual([[first], null])
  await ask('DELETE', `${path}/${first}`)
  const named = await ask('GET', `/v1/agents/metrics?runtime_id=${first},${third}&runtime_id=${unknown}`)
  expect(named.json.data).toMatchObject([
    { runtime_id: third, state: 'paused', now: null },
    { runtime_id: first, state: 'terminated', now: null, samples: [] },
  ])
  expect((await ask('GET', `${path}?runtime_id=${third},${unknown}`)).json.data).toMatchObject([{ runtime_id: third }])
})

test('a page of many samples is short, and an unreadable runtime does not stop the others', async () => {
  const clock = skippingClock()
  const engine = new FakeEngine()
  const { ask, makeRuntime } = await startTestServer({ ...clock, engine })
  const ids = [await makeRuntime(), await makeRuntime()]
  const usage = engine.ability('usage')
  if (usage === null) throw new Error('the engine accounts for nothing')
  const read = usage.read.bind(usage)
  vi.spyOn(usage, 'read').mockImplementation((id) => (id === ids[0] ? Promise.reject(new Error('EIO')) : read(id)))
  const all = (await ask('GET', '/v1/agents/metrics')).json
  expect(all.data.map(({ now }: { now: unknown }) => now === null)).toEqual([false, true])
  for (let count = 0; count < 30; count += 1) await makeRuntime()
  const page = (await ask('GET', '/v1/agents/metrics?limit=100&window_secs=3600')).json
  expect([page.data.length, page.next_cursor === null]).toEqual([9, false])
})

test.each([`runtime_id=${'a'.repeat(22)}`, 'runtime_id=', `runtime_id=${Array(101).fill(unknown)}`])(
  'the list of metrics refuses %s',
  async (query) => {
    const { ask } = await startTestServer()
    expect((await ask('GET', `/v1/agents/metrics?${query}`)).status).toBe(400)
    expect((await ask('GET', `${path}?${query}`)).status).toBe(400)
  },
)

test.each(['window_secs=3601', 'window_secs=-1', 'step_secs=15', 'step_secs=0', 'step=10'])(
  'the query %s is refused',
  async (query) => {
    const { ask, makeRuntime } = await startTestServer()
    expect((await ask('GET', `${path}/${await makeRuntime()}/metrics?${query}`)).status).toBe(400)
  },
)
