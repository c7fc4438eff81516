import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { startCommandId } from '@holt/builder'
import { type Abilities, EngineError } from '@holt/engine'
import { FakeEngine, type FakeEngineOptions } from '@holt/engine-testkit/fake'
import { GuestClient } from '@holt/guest-client'
import { describe, expect, test } from 'vitest'
import { type PooledServer, startPooledServer } from '../../support/pooled-server.ts'

const path = '/v1/agents/runtime'
const signal = () => AbortSignal.timeout(5000)

/** An engine that fails where `fails` says so. */
function failingEngine(fails: (verb: Parameters<NonNullable<FakeEngineOptions['before']>>[0], id: string) => boolean) {
  return new FakeEngine({
    before: (verb, id) => {
      if (fails(verb, id)) throw new EngineError('failed', `it does not ${verb}`)
    },
  })
}

describe('a pool', () => {
  test('fills to its minimum with frozen runtimes that belong to no project', async () => {
    const { filled, engine, ask } = await startPooledServer({ floor: 3 })
    for (const id of await filled(3)) {
      expect(await engine.inspect(id)).toMatchObject({ state: 'running', frozen: true, restored: false })
      expect(engine.guest(id)?.identity).toBeNull()
      expect((await ask('GET', `${path}/${id}`)).status).toBe(404)
    }
    expect((await ask('GET', path)).json.data).toEqual([])
  })

  test('gives a create its oldest runtime, and refills', async () => {
    const { filled, makeRuntime, engine, waiting, metric, ask } = await startPooledServer()
    const [oldest = '', next = ''] = await filled(2)
    expect(await makeRuntime()).toBe(oldest)
    expect((await ask('GET', `${path}/${oldest}`)).json).toMatchObject({ state: 'running', isolation: 'gvisor' })
    expect(await engine.inspect(oldest)).toMatchObject({ frozen: false })
    expect(engine.guest(oldest)?.identity).toMatchObject({ runtime_id: oldest })
    await filled(2)
    expect(await waiting()).toContain(next)
    expect(await waiting()).not.toContain(oldest)
    expect(await metric('holt_pool_hits_total', { template: 'base-small', isolation: 'gvisor' })).toBe(1)
    expect(await metric('holt_runtime_create_seconds_count', { source: 'pool' })).toBe(1)
  })

  test('serves a burst from its members, creates the rest, and grows afterwards', async () => {
    const { filled, makeRuntime, metric } = await startPooledServer()
    const pooled = await filled(2)
    const made = await Promise.all(Array.from({ length: 6 }, () => makeRuntime()))
    expect(new Set(made).size).toBe(6)
    expect(made.filter((id) => pooled.includes(id))).toHaveLength(2)
    await filled(8)
    const hits = await metric('holt_pool_hits_total')
    expect(hits + (await metric('holt_pool_misses_total'))).toBe(6)
  })

  test('is created for another requested template or class', async () => {
    const { makeRuntime, filled, metric, engine, waiting } = await startPooledServer({ floor: 0 })
    await makeRuntime({ template: 'base-medium' })
    const [medium = ''] = await filled(2, 'base-medium')
    expect(await makeRuntime({ template: 'base-medium' })).toBe(medium)
    await makeRuntime({ isolation: 'container' })
    const [container = ''] = await filled(2)
    expect(await engine.inspect(container)).toMatchObject({ spec: { isolation: 'container' }, restored: false })
    expect(await makeRuntime({ isolation: 'container' })).toBe(container)
    expect(await metric('holt_pool_hits_total', { template: 'base-medium' })).toBe(1)
    expect(await metric('holt_pool_hits_total', { isolation: 'container' })).toBe(1)
    expect(await waiting('base-large')).toEqual([])
  })

  test('does not serve another size', async () => {
    const { filled, makeRuntime, waiting, metric } = await startPooledServer()
    const pooled = await filled(2)
    expect(pooled).not.toContain(await makeRuntime({ cpu: 2 }))
    expect(pooled).not.toContain(await makeRuntime({ memory: '3GiB' }))
    expect(await waiting()).toEqual(pooled)
    expect(await metric('holt_pool_misses_total')).toBe(0)
  })

  test('does not serve a larger disk if the host cannot grow disks', async () => {
    const engine = new FakeEngine()
    const ability = engine.ability.bind(engine)
    engine.ability = ((name: keyof Abilities) => {
      const found = ability(name)
      return name === 'disks' ? { ...found, canGrow: false } : found
    }) as typeof ability
    const { filled, makeRuntime, waiting } = await startPooledServer({ engine })
    const pooled = await filled(2)
    expect(pooled).not.toContain(await makeRuntime({ disk: '20GiB' }))
    expect(await waiting()).toEqual(pooled)
  })

  test('is disabled with a ceiling of 0', async () => {
    const { makeRuntime, metric, waiting } = await startPooledServer({ floor: 2, ceiling: 0 })
    await makeRuntime()
    expect(await waiting()).toEqual([])
    expect(await metric('holt_pool_misses_total')).toBe(0)
  })
})

describe('a claim', () => {
  test('applies all settings of the create', async () => {
    const { filled, ask, engine } = await startPooledServer()
    const [oldest] = await filled(2)
    const json = {
      name: 'worker',
      env: { COLOUR: 'blue' },
      metadata: { team: 'red' },
      disk: '20GiB',
      timeout_secs: 600,
      on_timeout: 'terminate',
      network_policy: { allow: [{ host: 'example.com', ports: [443] }] },
    }
    const { status, json: made } = await ask('POST', path, { json })
    expect(status).toBe(201)
    expect(made).toMatchObject({
      runtime_id: oldest,
      name: 'worker',
      env: { COLOUR: 'blue' },
      metadata: { team: 'red' },
      disk_mib: 20 * 1024,
      timeout_secs: 600,
      on_timeout: 'terminate',
      network_policy: { type: 'inline' },
    })
    const guest = engine.guest(made.runtime_id)
    expect(guest?.identity?.env).toMatchObject({ COLOUR: 'blue', FROM_TEMPLATE: 'yes' })
    expect(guest?.network).not.toBeNull()
    expect((await engine.inspect(made.runtime_id))?.spec.diskMiB).toBe(20 * 1024)
  })

  test('for a larger disk takes no member if disks cannot grow', async () => {
    const { filled, ask, engine, waiting } = await startPooledServer({ engine: new FakeEngine({ canGrow: false }) })
    const before = await filled(2)
    const { status, json: made } = await ask('POST', path, { json: { disk: '20GiB' } })
    expect(status).toBe(201)
    expect((await engine.inspect(made.runtime_id))?.spec.diskMiB).toBe(20 * 1024)
    expect(await waiting()).toEqual(before)
  })

  test('gives secrets and runs the commands of the template', async () => {
    const { filled, ask, makeRuntime, engine, tamper, metric } = await startPooledServer()
    await ask('POST', '/v1/agents/secret', { json: { name: 'inside', value: 'hidden', env: true } })
    await tamper(`UPDATE templates SET on_restore = 'exit 0' WHERE name = 'base-small'`)
    await filled(2)
    const id = await makeRuntime({ secrets: ['inside'] })
    expect(Object.values(engine.guest(id)?.identity?.env ?? {})).toContain('hidden')
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('running')
    expect(await metric('holt_pool_hits_total')).toBe(1)
  })

  test('with a name in use is refused and takes no member', async () => {
    const { filled, makeRuntime, ask, waiting } = await startPooledServer()
    await filled(2)
    await makeRuntime({ name: 'one' })
    const pooled = await filled(2)
    const { status, json } = await ask('POST', path, { json: { name: 'one' } })
    expect([status, json.error.code]).toEqual([409, 'name_taken'])
    expect(await waiting()).toEqual(pooled)
  })

  test('of one name by many at once is one runtime', async () => {
    const { filled, waiting, ask } = await startPooledServer({ floor: 4 })
    await filled(4)
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask('POST', path, { json: { name: 'the-one' } })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
    expect((await ask('GET', path)).json.data).toHaveLength(1)
    // A create that lost may have counted as demand before, so one more member is kept.
    await expect.poll(async () => (await waiting()).length, { timeout: 10_000 }).toBeGreaterThanOrEqual(4)
  })

  test('skips a broken member, and the client does not notice', async () => {
    const broken = new Set<string>()
    const engine = failingEngine((verb, id) => verb === 'thaw' && broken.has(id))
    const { filled, makeRuntime, ask } = await startPooledServer({ engine })
    const [first = '', second] = await filled(2)
    broken.add(first)
    expect(await makeRuntime()).toBe(second)
    await expect.poll(() => engine.inspect(first)).toBeNull()
    expect((await ask('GET', path)).json.data).toHaveLength(1)
    await filled(2)
  })

  test('creates a runtime if all members are broken', async () => {
    let broken = false
    const engine = failingEngine((verb) => verb === 'thaw' && broken)
    const { filled, makeRuntime, metric } = await startPooledServer({ engine })
    const pooled = await filled(2)
    broken = true
    expect(pooled).not.toContain(await makeRuntime())
    expect(await metric('holt_runtime_create_seconds_count', { source: 'template' })).toBe(1)
  })

  test('of a runtime that ends between bind and row is reported as ended', async () => {
    const { filled, makeRuntime, ask, engine } = await startPooledServer({ floor: 1 })
    const [id = ''] = await filled(1)
    const guest = engine.guest(id)
    if (guest === null) throw new Error('it has no guest')
    const request = guest.request.bind(guest)
    guest.request = async (asked) => {
      const answer = await request(asked)
      if (asked.path !== '/v1/bind') return answer
      const body = await buffer(answer.body)
      engine.end(id, { reason: 'crashed', message: '' })
      await sleep(100) // The service hears of it while the runtime is nobody's.
      return { ...answer, body: Readable.from([body]) }
    }
    expect(await makeRuntime()).toBe(id)
    const state = async () => (await ask('GET', `${path}/${id}`)).json
    await expect.poll(state).toMatchObject({ state: 'failed', state_reason: { code: 'crashed' } })
    await expect.poll(() => engine.inspect(id)).toBeNull()
  })

  test('is found again by a repeated create with a lost answer', async () => {
    const first = await startPooledServer()
    await first.filled(2)
    const request = { json: {}, headers: { 'idempotency-key': 'once' } }
    const made = (await first.ask('POST', path, request)).json.runtime_id
    await first.close()
    await first.tamper('UPDATE idempotency SET status = NULL, body = NULL')
    const second = await startPooledServer({ engine: first.engine }, first.stateDir)
    expect((await second.ask('POST', path, request)).json.runtime_id).toBe(made)
    expect((await second.ask('GET', path)).json.data).toHaveLength(1)
  })
})

describe('members that', () => {
  test('that end by themselves are replaced', async () => {
    const { filled, engine } = await startPooledServer()
    const [dead = ''] = await filled(2)
    engine.end(dead, { reason: 'crashed', message: '' })
    await expect.poll(() => engine.inspect(dead)).toBeNull()
    expect(await filled(2)).not.toContain(dead)
  })

  test('of an older version of the template are replaced', async () => {
    const { filled, engine, tamper, waiting } = await startPooledServer()
    const old = await filled(2)
    await tamper(`UPDATE templates SET disk_mib = disk_mib + 1024 WHERE name = 'base-small'`)
    await expect.poll(async () => (await waiting()).filter((id) => old.includes(id))).toEqual([])
    for (const id of await filled(2)) expect((await engine.inspect(id))?.spec.diskMiB).toBe(5 * 1024)
    for (const id of old) expect(await engine.inspect(id)).toBeNull()
  })

  test('of a deleted template are removed', async () => {
    const { filled, tamper, makeRuntime, engine } = await startPooledServer({ floor: 0 })
    await makeRuntime({ template: 'base-medium' })
    const old = await filled(2, 'base-medium')
    await tamper(`UPDATE templates SET state = 'failed' WHERE name = 'base-medium'`)
    for (const id of old) await expect.poll(() => engine.inspect(id)).toBeNull()
  })

  test('that have waited for an hour are replaced, the new one first', async () => {
    let now = Date.now()
    const { filled, waiting, metric } = await startPooledServer({ now: () => now })
    const old = await filled(2)
    now += 3600_000 + 1000
    expect(await metric('holt_pool_age_seconds')).toBeGreaterThan(3600)
    const counts = new Set<number>()
    const stillOld = async () => {
      const ids = await waiting()
      counts.add(ids.length)
      return ids.filter((id) => old.includes(id))
    }
    await expect.poll(stillOld, { timeout: 15_000, interval: 20 }).toEqual([])
    expect(Math.min(...counts)).toBe(2)
    await filled(2)
  })

  test('that cannot be created are retried, at growing intervals', async () => {
    let failures = 0
    const engine = failingEngine((verb) => verb === 'freeze' && failures++ < 2)
    const { filled, logged } = await startPooledServer({ engine, floor: 1 })
    const [id = ''] = await filled(1)
    expect(await engine.inspect(id)).toMatchObject({ frozen: true })
    expect(logged.filter(({ message }) => message.includes('could not be made'))).toHaveLength(2)
  })

  test('without demand are removed', async () => {
    let now = Date.now()
    const { filled, makeRuntime, engine, metric } = await startPooledServer({ floor: 0, now: () => now })
    await makeRuntime()
    const old = await filled(2)
    now += 6 * 60_000
    for (const id of old) await expect.poll(() => engine.inspect(id)).toBeNull()
    expect(await metric('holt_pool_members', { state: 'ready' })).toBe(0)
  })
})

describe('a host that is short of memory', () => {
  test('has no pools, and creates runtimes', async () => {
    const { makeRuntime, metric, waiting } = await startPooledServer({ freeMemoryMiB: async () => 6600 })
    await makeRuntime()
    await expect.poll(() => metric('holt_pool_size_wanted')).toBe(2)
    expect(await waiting()).toEqual([])
  })

  test('removes its members, and refills its pools when there is memory again', async () => {
    let free = 32_000
    const { filled, engine } = await startPooledServer({ freeMemoryMiB: async () => free })
    const old = await filled(2)
    free = 6000
    for (const id of old) await expect.poll(() => engine.inspect(id)).toBeNull()
    free = 32_000
    await filled(2)
  })
})

describe('members of class container, of a template with a checkpoint', () => {
  const isolation = 'container'

  async function startApplications() {
    const server = await startPooledServer({ floor: 0 })
    const commands = `start_cmd = 'sleep', ready_cmd = 'true', "user" = 'user', workdir = '/'`
    await server.tamper(`UPDATE templates SET ${commands}, checkpoint_id = 'ck1' WHERE name = 'base-small'`)
    await server.makeRuntime({ isolation })
    return { ...server, pooled: await server.filled(2) }
  }

  const startedIn = async ({ engine }: PooledServer, id: string) => {
    const guest = new GuestClient(await engine.dial(id, signal()))
    return (await guest.processes.list(signal())).find((process) => process.id === startCommandId)
  }

  test('have started its application before a create claims them', async () => {
    const server = await startApplications()
    const before = Date.now()
    const id = await server.makeRuntime({ isolation })
    expect(id).toBe(server.pooled[0])
    expect(await startedIn(server, id)).toMatchObject({ state: 'running', user: 'user' })
    expect((await startedIn(server, id))?.started_at_ms).toBeLessThan(before)
    expect(await server.metric('holt_pool_hits_total', { isolation })).toBe(1)
  })

  test('are replaced after a restart, because no row says what they have started', async () => {
    const first = await startApplications()
    await first.close()
    const second = await startPooledServer({ engine: first.engine, floor: 0 }, first.stateDir)
    for (const id of first.pooled) await expect.poll(() => first.engine.inspect(id)).toBeNull()
    const id = await second.makeRuntime({ isolation })
    expect(first.pooled).not.toContain(id)
    expect(await startedIn(second, id)).toMatchObject({ state: 'running' })
  })

  test('are not given to a create whose settings the application would lack', async () => {
    const server = await startApplications()
    const before = Date.now()
    const policy = { allow: [{ host: 'example.com', ports: [443] }] }
    for (const settings of [{ env: { A: '1' } }, { network_policy: policy }]) {
      const id = await server.makeRuntime({ isolation, ...settings })
      expect(server.pooled).not.toContain(id)
      expect((await startedIn(server, id))?.started_at_ms).toBeGreaterThanOrEqual(before)
    }
  })
})

describe('after a restart', () => {
  test('members are adopted, and none is recreated', async () => {
    const first = await startPooledServer()
    const pooled = await first.filled(2)
    await first.close()
    for (const id of pooled) expect(await first.engine.inspect(id)).toMatchObject({ state: 'running', frozen: true })
    const second = await startPooledServer({ engine: first.engine }, first.stateDir)
    await expect.poll(() => second.metric('holt_pool_members', { state: 'ready' })).toBe(2)
    expect(await second.waiting()).toEqual(pooled)
    for (const id of pooled) expect(await first.engine.inspect(id)).toMatchObject({ frozen: true })
    expect(pooled).toContain(await second.makeRuntime())
    expect(second.logged.map(({ message }) => message).join()).not.toContain('is not in the database')
  })

  test('unfinished, claimed and ended members are removed', async () => {
    const first = await startPooledServer({ floor: 4 })
    const [half = '', bound = '', dead = '', good = ''] = await first.filled(4)
    await first.close()
    const { engine } = first
    await first.tamper(`UPDATE pool_members SET state = 'making' WHERE runtime_id = '${half}'`)
    await engine.ability('freezer')?.thaw(bound)
    await new GuestClient(await engine.dial(bound, signal())).bind(identity(bound), signal())
    engine.end(dead, { reason: 'out_of_memory', message: '' })
    const second = await startPooledServer({ engine, floor: 1 }, first.stateDir)
    for (const id of [half, bound, dead]) await expect.poll(() => engine.inspect(id)).toBeNull()
    expect(await second.filled(1)).toEqual([good])
    expect(second.logged.map(({ message }) => message).join()).toContain('cannot be used')
  })

  test('with another template, members are removed', async () => {
    const first = await startPooledServer()
    const old = await first.filled(2)
    await first.close()
    await first.tamper(`UPDATE templates SET disk_mib = disk_mib + 1024 WHERE name = 'base-small'`)
    const second = await startPooledServer({ engine: first.engine }, first.stateDir)
    for (const id of old) await expect.poll(() => first.engine.inspect(id)).toBeNull()
    await second.filled(2)
  })

  test('with pools disabled, members are removed', async () => {
    const first = await startPooledServer()
    const old = await first.filled(2)
    await first.close()
    const second = await startPooledServer({ engine: first.engine, ceiling: 0 }, first.stateDir)
    for (const id of old) await expect.poll(() => first.engine.inspect(id)).toBeNull()
    await second.filled(0)
  })
})

function identity(runtimeId: string) {
  return {
    runtime_id: runtimeId,
    hostname: runtimeId,
    machine_id: 'a'.repeat(32),
    env: {},
    user: 'user',
    workdir: '/workspace',
    time_unix_ms: Date.now(),
    entropy: '',
    pids_max: null,
    set_clock: false,
    set_hostname: false,
    network: null,
  }
}
