import { EngineError } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { describe, expect, onTestFinished, test } from 'vitest'
import { decideDeadline } from '../../../src/runtimes/state/deadline.ts'
import { skippingClock } from '../../support/skipping-clock.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'
const pollTimeout = { timeout: 10_000 }

describe('the lifetime settings', () => {
  test.each([
    [{}, true, { timeout_secs: 3600, on_timeout: 'pause', idle_timeout_secs: null, auto_resume: 1 }],
    [{}, false, { timeout_secs: null, on_timeout: 'terminate', idle_timeout_secs: null, auto_resume: 1 }],
    [{ timeout_secs: null }, true, { timeout_secs: null, on_timeout: 'pause' }],
    [{ timeout_secs: 60 }, false, { timeout_secs: 60, on_timeout: 'terminate' }],
    [{ timeout_secs: 60, on_timeout: 'terminate' }, true, { timeout_secs: 60, on_timeout: 'terminate' }],
    [{ idle_timeout_secs: 5, auto_resume: false }, true, { idle_timeout_secs: 5, auto_resume: 0 }],
    [{ idle_timeout_secs: null }, false, { idle_timeout_secs: null }],
  ] as const)('of %j with a possible pause are %j', (request, canPause, expected) => {
    expect(decideDeadline(request, { canPause })).toMatchObject(expected)
  })

  test.each([{ on_timeout: 'pause' }, { idle_timeout_secs: 5 }] as const)(
    '%j is refused without a possible pause',
    (request) => {
      expect(() => decideDeadline(request, { canPause: false })).toThrow(
        expect.objectContaining({ code: 'unsupported_setting' }),
      )
    },
  )
})

describe('a runtime past its deadline', () => {
  test('is paused, and has its full time again after the resume', async () => {
    let now = Date.now()
    const { ask, makeRuntime, engine } = await startTestServer({ now: () => now })
    const id = await makeRuntime({ timeout_secs: 60 })
    const other = await makeRuntime({ timeout_secs: 120 })
    now += 61_000
    await expect.poll(async () => (await ask('GET', `${path}/${id}`)).json.state, pollTimeout).toBe('paused')
    expect((await ask('GET', `${path}/${id}`)).json).toMatchObject({
      state_reason: { code: 'timeout' },
      expires_at: null,
      timeout_secs: 60,
    })
    expect(await engine.inspect(id)).toBeNull()
    expect((await ask('GET', `${path}/${other}`)).json.state).toBe('running')
    const { json } = await ask('POST', `${path}/${id}/resume`)
    expect(Date.parse(json.expires_at)).toBe(now + 60_000)
  })

  test('is paused by the next service, once', async () => {
    let now = Date.now()
    let taken = 0
    const engine = new FakeEngine({
      before: (verb) => {
        if (verb === 'take') taken += 1
      },
    })
    const first = await startTestServer({ engine, now: () => now })
    const id = await first.makeRuntime({ timeout_secs: 60 })
    const before = taken
    await first.close()
    now += 3_600_000
    const second = await first.restart()
    await expect.poll(async () => (await second.ask('GET', `${path}/${id}`)).json.state, pollTimeout).toBe('paused')
    expect(taken).toBe(before + 1)
  })

  test('that is extended as its pause begins continues', async () => {
    let now = Date.now()
    const engine = new FakeEngine()
    const { ask, makeRuntime } = await startTestServer({ engine, now: () => now })
    const extended = await makeRuntime({ timeout_secs: 60 })
    const describeHost = engine.describe.bind(engine)
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    const asked = new Promise<void>((resolve) => {
      engine.describe = async () => {
        engine.describe = describeHost
        resolve()
        await answered
        return describeHost()
      }
    })
    now += 61_000
    await asked
    expect((await ask('PATCH', `${path}/${extended}`, { json: { timeout_secs: 60 } })).status).toBe(200)
    answer()
    const sentinel = await makeRuntime({ timeout_secs: 30 })
    now += 31_000
    await expect.poll(async () => (await ask('GET', `${path}/${sentinel}`)).json.state, pollTimeout).toBe('paused')
    expect((await ask('GET', `${path}/${extended}`)).json.state).toBe('running')
  })

  test('that is extended in time continues', async () => {
    let now = Date.now()
    const { ask, makeRuntime } = await startTestServer({ now: () => now })
    const [extended, sentinel] = [await makeRuntime({ timeout_secs: 60 }), await makeRuntime({ timeout_secs: 60 })]
    now += 50_000
    const { json } = await ask('PATCH', `${path}/${extended}`, { json: { timeout_secs: 60 } })
    expect(Date.parse(json.expires_at)).toBe(now + 60_000)
    now += 11_000
    await expect.poll(async () => (await ask('GET', `${path}/${sentinel}`)).json.state, pollTimeout).toBe('paused')
    expect((await ask('GET', `${path}/${extended}`)).json.state).toBe('running')
  })

  test('that cannot be paused now continues, and is retried', async () => {
    let full = true
    let tried = 0
    let now = Date.now()
    const engine = new FakeEngine({
      before: (verb, id) => {
        if (verb !== 'take' || id !== wanted) return
        tried += 1
        if (full) throw new EngineError('no_space', 'full')
      },
    })
    let wanted = ''
    const { ask, makeRuntime, logged } = await startTestServer({ engine, now: () => now })
    wanted = await makeRuntime({ timeout_secs: 60 })
    now += 61_000
    await expect.poll(() => tried, pollTimeout).toBe(1)
    expect((await ask('POST', `${path}/${wanted}/commands`, { json: { command: 'echo on' } })).json.stdout).toBe('on\n')
    full = false
    // The pause before the next try is counted from here on.
    await expect.poll(() => logged.some(({ message }) => message.includes('it is retried')), pollTimeout).toBe(true)
    now += 6_000
    await expect.poll(async () => (await ask('GET', `${path}/${wanted}`)).json.state, pollTimeout).toBe('paused')
  })
})

test('a clock change moves deadlines', async () => {
  let [now, monotonic] = [Date.now(), 1_000_000]
  const { ask, makeRuntime } = await startTestServer({ now: () => now, monotonic: () => monotonic })
  const [id, sentinel] = [await makeRuntime({ timeout_secs: 3600 }), await makeRuntime({ timeout_secs: 30 })]
  const before = Date.parse((await ask('GET', `${path}/${id}`)).json.expires_at)
  now += 7_200_000
  const expiry = async () => Date.parse((await ask('GET', `${path}/${id}`)).json.expires_at)
  await expect.poll(expiry, pollTimeout).toBe(before + 7_200_000)
  now -= 86_400_000
  await expect.poll(expiry, pollTimeout).toBe(before + 7_200_000 - 86_400_000)
  // Time that passes for both clocks is no jump.
  now += 40_000
  monotonic += 40_000
  await expect.poll(async () => (await ask('GET', `${path}/${sentinel}`)).json.state, pollTimeout).toBe('paused')
  expect((await ask('GET', `${path}/${id}`)).json.state).toBe('running')
  expect(await expiry()).toBe(before + 7_200_000 - 86_400_000)
})

test('a clock change while the service is stopped moves deadlines', async () => {
  let [now, monotonic] = [Date.now(), 1_000_000]
  const first = await startTestServer({ now: () => now, monotonic: () => monotonic })
  const [long, short] = [await first.makeRuntime({ timeout_secs: 3600 }), await first.makeRuntime({ timeout_secs: 30 })]
  const before = Date.parse((await first.ask('GET', `${path}/${long}`)).json.expires_at)
  await first.close()
  now += 7_200_000 + 40_000
  monotonic += 40_000
  const { ask } = await first.restart()
  await expect.poll(async () => (await ask('GET', `${path}/${short}`)).json.state, pollTimeout).toBe('paused')
  expect((await ask('GET', `${path}/${long}`)).json).toMatchObject({
    state: 'running',
    expires_at: new Date(before + 7_200_000).toISOString(),
  })
})

test('interrupted work is completed even if the clock was set back', async () => {
  let now = Date.now()
  let fails = 1
  const engine = new FakeEngine({
    before: (verb) => {
      if (verb === 'remove' && fails-- > 0) throw new EngineError('failed', 'not now')
    },
  })
  const { ask, makeRuntime } = await startTestServer({ engine, now: () => now })
  fails = 0
  const id = await makeRuntime()
  fails = 1
  expect((await ask('DELETE', `${path}/${id}`)).status).toBe(503)
  now -= 86_400_000
  await expect.poll(async () => (await ask('GET', `${path}/${id}`)).json.state, pollTimeout).toBe('terminated')
})

describe('an idle runtime', () => {
  test('is paused, and one in use is not', async () => {
    const clock = skippingClock()
    const { ask, makeRuntime } = await startTestServer(clock)
    const stateOf = async (id: string) => (await ask('GET', `${path}/${id}`)).json.state
    const idle = await makeRuntime({ idle_timeout_secs: 60 })
    await ask('GET', `${path}/${idle}/files/stat?path=/`)
    const background = await makeRuntime({ idle_timeout_secs: 60 })
    const [followed, working, asked, never] = [
      await makeRuntime({ idle_timeout_secs: 60 }),
      await makeRuntime({ idle_timeout_secs: 60 }),
      await makeRuntime({ idle_timeout_secs: 60 }),
      await makeRuntime(),
    ]
    const start = async (id: string, json: object) =>
      (await ask('POST', `${path}/${id}/commands`, { json: { command: 'cat', stdin: true, ...json } })).json
    await start(background, { background: true })
    const { command_id } = await start(followed, { background: true })
    const following = ask('GET', `${path}/${followed}/commands/${command_id}/output?follow=true`)
    const leaving = new AbortController()
    const left = ask('POST', `${path}/${working}/commands`, {
      json: { command: 'sleep', timeout_secs: 0 },
      signal: leaving.signal,
    }).catch(() => null)
    await expect.poll(async () => (await ask('GET', `${path}/${working}/commands`)).json.data.length).toBe(1)
    leaving.abort()
    await left
    for (let step = 0; step < 7; step += 1) {
      clock.skip(10_000)
      await ask('GET', `${path}/${asked}/files/stat?path=/`)
      if (step < 5) expect(await stateOf(idle)).toBe('running')
    }
    await expect.poll(() => stateOf(idle), pollTimeout).toBe('paused')
    await expect.poll(() => stateOf(background), pollTimeout).toBe('paused')
    expect((await ask('GET', `${path}/${idle}`)).json.state_reason.code).toBe('idle')
    for (const id of [followed, working, asked, never]) expect(await stateOf(id)).toBe('running')
    await ask('DELETE', `${path}/${followed}/commands/${command_id}`)
    await following
  })

  test('is one without network traffic', async () => {
    const clock = skippingClock()
    const { ask, makeRuntime, gateway } = await startTestServer(clock)
    const stateOf = async (id: string) => (await ask('GET', `${path}/${id}`)).json.state
    const policy = { network_policy: { allow: [{ host: 'api.example.com' }] }, idle_timeout_secs: 60 }
    const [busy, idle] = [await makeRuntime(policy), await makeRuntime(policy)]
    for (const id of [busy, idle]) await ask('GET', `${path}/${id}/files/stat?path=/`)
    const egress = gateway.of(busy)
    if (egress === null) throw new Error('it has no way out')
    // Each look of the sweep finds that something has moved.
    let looks = 0
    const traffic = () => ({ sent: 100 * ++looks, received: 0 })
    Object.defineProperty(egress, 'traffic', { get: traffic })
    for (let step = 0; step < 4; step += 1) {
      const before = looks
      await expect.poll(() => looks, pollTimeout).toBeGreaterThan(before)
      clock.skip(20_000)
    }
    await expect.poll(() => stateOf(idle), pollTimeout).toBe('paused')
    expect(await stateOf(busy)).toBe('running')
  })

  test('without running processes is frozen, and thawed for the next request', async () => {
    const clock = skippingClock()
    const { ask, makeRuntime, engine } = await startTestServer(clock)
    const [id, working] = [await makeRuntime(), await makeRuntime()]
    await ask('GET', `${path}/${id}/files/stat?path=/`)
    await ask('POST', `${path}/${working}/commands`, { json: { command: 'sleep', background: true } })
    clock.skip(10_000)
    const frozen = async (which: string) => (await engine.inspect(which))?.frozen
    await expect.poll(() => frozen(id), pollTimeout).toBe(true)
    expect(await frozen(working)).toBe(false)
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('running')
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => ask('POST', `${path}/${id}/commands`, { json: { command: 'echo here' } })),
    )
    expect(answers.map(({ json }) => json.stdout)).toEqual(Array(4).fill('here\n'))
    expect(await frozen(id)).toBe(false)
    clock.skip(10_000)
    await expect.poll(() => frozen(id), pollTimeout).toBe(true)
    expect((await ask('POST', `${path}/${id}/pause`)).json.state).toBe('paused')
    expect((await ask('DELETE', `${path}/${id}`)).status).toBe(204)
  })

  test('that is frozen is found by the next service', async () => {
    const clock = skippingClock()
    const first = await startTestServer(clock)
    const id = await first.makeRuntime()
    await first.ask('GET', `${path}/${id}/files/stat?path=/`)
    clock.skip(10_000)
    await expect.poll(async () => (await first.engine.inspect(id))?.frozen, pollTimeout).toBe(true)
    const second = await first.restart()
    const { json } = await second.ask('POST', `${path}/${id}/commands`, { json: { command: 'echo here' } })
    expect(json.stdout).toBe('here\n')
  })
})

test('a deadline beyond the longest timer of Node (2^31 ms) is not due at once', async () => {
  const warnings: string[] = []
  const warn = (warning: Error) => warnings.push(warning.name)
  process.on('warning', warn)
  onTestFinished(() => void process.off('warning', warn))
  const { ask, makeRuntime } = await startTestServer()
  const days = 24 * 3600
  const id = await makeRuntime({ timeout_secs: 30 * days, idle_timeout_secs: 30 * days })
  const expires_at = new Date(Date.now() + 10 * 365 * days * 1000).toISOString()
  const { key } = (await ask('POST', '/v1/agents/key', { json: { scopes: ['runtime:read'], expires_at } })).json
  await ask('POST', `${path}/${id}/commands`, { json: { command: 'sleep', background: true, timeout_secs: 7 * days } })
  // The sweep looks once a second.
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  const { status, json } = await ask('GET', `${path}/${id}`, { key })
  expect([status, json.state]).toEqual([200, 'running'])
  expect((await ask('GET', `${path}/${id}/commands`)).json.data[0].state).toBe('running')
  expect(warnings).not.toContain('TimeoutOverflowWarning')
})
