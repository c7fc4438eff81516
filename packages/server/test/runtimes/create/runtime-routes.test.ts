import { EngineError, type EngineFacts } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { describe, expect, test } from 'vitest'
import { buildTemplate, checkpointing, isRestored } from '../../support/checkpointing-builder.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'

describe('create', () => {
  test('answers a running runtime of the default template', async () => {
    const { ask } = await startTestServer()
    const { status, json } = await ask('POST', path, { json: {} })
    expect(status).toBe(201)
    expect(json).toMatchObject({
      state: 'running',
      cpu: 1,
      memory_mib: 1024,
      disk_mib: 4096,
      isolation: 'gvisor',
      cloud: 'aws',
      region: 'us-east-1',
      spread: null,
      network_policy: null,
      timeout_secs: 3600,
      on_timeout: 'pause',
      idle_timeout_secs: null,
      auto_resume: true,
    })
    expect(json.template.name).toBe('base-small')
  })

  test('takes an absent body as all defaults', async () => {
    const { ask } = await startTestServer()
    expect((await ask('POST', path)).status).toBe(201)
  })

  test('sends its identity to the guest', async () => {
    const { ask, engine } = await startTestServer()
    const { json } = await ask('POST', path, { json: { name: 'worker-1', env: { MODE: 'fast' } } })
    expect(engine.guest(json.runtime_id)?.identity).toMatchObject({
      runtime_id: json.runtime_id,
      hostname: 'worker-1',
      user: 'user',
      workdir: '/workspace',
      env: { PATH: '/bin', FROM_TEMPLATE: 'yes', MODE: 'fast' },
    })
  })

  test.each([
    ['base-medium', 4096],
    ['base-large:latest', 8192],
  ])('finds the template %s', async (template, memory) => {
    const { ask } = await startTestServer()
    expect((await ask('POST', path, { json: { template } })).json.memory_mib).toBe(memory)
  })

  test('finds a template by its id', async () => {
    const { ask } = await startTestServer()
    const { template_id } = (await ask('GET', '/v1/agents/template/base-medium')).json
    expect((await ask('POST', path, { json: { template: template_id } })).json.template.name).toBe('base-medium')
  })

  test('restores the checkpoint for the size of the template, and boots cold for others', async () => {
    const server = await startTestServer({ builder: checkpointing() })
    await buildTemplate(server, 'app')
    expect(await isRestored(server, 'app')).toBe(true)
    expect(await isRestored(server, 'app', { memory: 2 })).toBe(false)
    expect(await isRestored(server, 'app', { isolation: 'container' })).toBe(false)
    expect(await isRestored(server, 'app', { disk: 8 })).toBe(true)
  })

  test('boots a runtime of a template without an application', async () => {
    const server = await startTestServer({ builder: checkpointing() })
    await buildTemplate(server, 'plain', { on_restore: 'true' })
    expect(await isRestored(server, 'plain')).toBe(false)
    expect((await server.engine.inspect(await server.makeRuntime()))?.restored).toBe(false)
    expect((await server.ask('GET', '/readyz')).json.fallbacks).toEqual([])
  })

  test('refuses a second live runtime of a name, and accepts it after the first has ended', async () => {
    const { ask, makeRuntime } = await startTestServer()
    const first = await makeRuntime({ name: 'one' })
    expect((await ask('POST', path, { json: { name: 'one' } })).json.error).toMatchObject({
      code: 'name_taken',
      details: { runtime_id: first },
    })
    await ask('DELETE', `${path}/${first}`)
    await makeRuntime({ name: 'one' })
  })

  test.each([
    [{ template: 'nothing' }, 404, 'template_not_found'],
    [{ template: 'base-small:v2' }, 404, 'template_not_found'],
    [{ disk: 1 }, 422, 'disk_too_small'],
    [{ cloud: 'elsewhere' }, 400, 'unsupported_setting'],
    [{ region: 'eu-central-1' }, 400, 'unsupported_setting'],
    [{ spread: 'a b' }, 400, 'invalid_request'],
    [{ spread: 'a'.repeat(65) }, 400, 'invalid_request'],
    [{ memory: '3TiB' }, 400, 'unsupported_setting'],
  ])('refuses %j with %i %s', async (json, status, code) => {
    const { ask } = await startTestServer()
    const answer = await ask('POST', path, { json })
    expect([answer.status, answer.json.error.code]).toEqual([status, code])
  })

  test('names the smallest disk that is large enough', async () => {
    const { ask } = await startTestServer()
    expect((await ask('POST', path, { json: { disk: 1 } })).json.error.details).toEqual({ required_mib: 4096 })
  })

  test('says why an isolation class is not available', async () => {
    const isolation = {
      gvisor: { available: false, reason: 'runsc is missing', fix: 'apt-get install runsc' },
      container: { available: true, runner: 'fake', canCheckpoint: false },
    } as const
    const { ask } = await startTestServer({ engine: new FakeEngine({ facts: { isolation } }) })
    const { status, json } = await ask('POST', path, { json: {} })
    expect(status).toBe(501)
    expect(json.error).toMatchObject({ code: 'not_supported_here', hint: 'apt-get install runsc' })
    expect(json.error.message).toContain('runsc is missing')
    expect((await ask('POST', path, { json: { isolation: 'container' } })).status).toBe(201)
  })

  test('an isolation class whose start fails for good gets an error without a short retry', async () => {
    const facts: Partial<EngineFacts> = {}
    const trial = 'a trial start of a runtime fails'
    const before = (verb: string) => {
      if (verb !== 'ensure' || !armed) return
      const isolation = {
        gvisor: { available: false, reason: trial, fix: null },
        container: { available: true, runner: 'fake', canCheckpoint: false },
      } as const
      Object.assign(facts, { isolation })
      throw new EngineError('not_supported', 'gvisor: /a/path of the host')
    }
    let armed = false
    const { ask } = await startTestServer({ engine: new FakeEngine({ facts, before }) })
    armed = true
    const { status, json } = await ask('POST', path, { json: {} })
    expect([status, json.error.code]).toEqual([501, 'not_supported_here'])
    expect(json.error.message).toContain(trial)
    expect(JSON.stringify(json)).not.toMatch(/shortly|a\/path/)
    expect((await ask('GET', '/readyz')).json.isolation.gvisor).toMatchObject({ available: false, reason: trial })
  })

  test('refuses a disk larger than the host, for runtimes and builds', async () => {
    const { ask } = await startTestServer({ engine: new FakeEngine({ facts: { diskMiB: 60 * 1024 } }) })
    const refused = { code: 'unsupported_setting', details: { available_mib: 59 * 1024 } }
    expect((await ask('POST', path, { json: { disk: '1TB' } })).json.error).toMatchObject(refused)
    const build = { name: 'big', from_image: 'alpine', disk: '1TB' }
    expect((await ask('POST', '/v1/agents/template/build', { json: build })).json.error).toMatchObject(refused)
    expect((await ask('POST', path, { json: { disk: '50g' } })).json.disk_mib).toBe(50 * 1024)
  })

  test('refuses creates on a nearly full disk; reads and deletes continue', async () => {
    const facts = { diskFreeMiB: 4096 }
    const { ask, makeRuntime } = await startTestServer({ engine: new FakeEngine({ facts }) })
    const id = await makeRuntime()
    facts.diskFreeMiB = 100
    expect((await ask('POST', path, { json: {} })).json.error.code).toBe('disk_full')
    expect((await ask('GET', `${path}/${id}`)).status).toBe(200)
    expect((await ask('DELETE', `${path}/${id}`)).status).toBe(204)
  })

  test.each([
    [new EngineError('no_space', '/secret/path is full'), 507, 'disk_full'],
    [new EngineError('failed', 'runsc said /secret/path'), 503, 'unavailable'],
    [new EngineError('invalid', '/secret/path'), 400, 'unsupported_setting'],
    [new Error('/secret/path'), 503, 'unavailable'],
  ])('leaves a failed row and no runtime in the engine when the engine says %s', async (failure, status, code) => {
    let failing = false
    const engine = new FakeEngine({
      before: (verb) => {
        if (failing && verb === 'dial') throw failure
      },
    })
    const { ask } = await startTestServer({ engine })
    failing = true
    const answer = await ask('POST', path, { json: {} })
    expect([answer.status, answer.json.error.code]).toEqual([status, code])
    expect(answer.text).not.toContain('/secret')
    const [row] = (await ask('GET', path)).json.data
    expect(row).toMatchObject({ state: 'failed', state_reason: { code } })
    expect(await engine.inspect(row.runtime_id)).toBeNull()
  })
})

describe('read', () => {
  test.each(['rt00000000000000000000', 'nonsense', '..', '%00', `rt${'x'.repeat(200)}`])(
    'answers 404 for the id %s',
    async (id) => {
      const { ask } = await startTestServer()
      for (const [method, json] of [
        ['GET', undefined],
        ['DELETE', undefined],
        ['PATCH', {}],
      ] as const) {
        const answer = await ask(method, `${path}/${id === '..' ? '%2e%2e' : id}`, json === undefined ? {} : { json })
        expect(answer.status).toBe(404)
      }
    },
  )

  test('lists newest first in pages', async () => {
    const { ask, makeRuntime } = await startTestServer()
    const ids = [await makeRuntime(), await makeRuntime(), await makeRuntime()]
    const first = (await ask('GET', `${path}?limit=2`)).json
    const second = (await ask('GET', `${path}?limit=2&cursor=${first.next_cursor}`)).json
    expect([...first.data, ...second.data].map(({ runtime_id }) => runtime_id)).toEqual(ids.reverse())
    expect(second.next_cursor).toBeNull()
  })

  test.each([
    ['state=running', ['a', 'b']],
    ['state=terminated', []],
    ['state=terminated,running', ['a', 'b']],
    ['state=paused&state=running', ['a', 'b']],
    ['name=a', ['a']],
    ['template=base-medium', ['b']],
    ['template=base-small:latest', ['a']],
    ['template=base-small:latest2', []],
    ['template=base-small:v2', []],
    ['isolation=container', ['b']],
    ['metadata.team=red', ['a', 'b']],
    ['metadata.team=red&metadata.tier=1', ['a']],
    ['metadata.team=red&metadata.team=blue', []],
    ['metadata.a.b/c-d=%F0%9F%99%82', ['b']],
    ['metadata.%C3%BC%20%22%26=%25', ['b']],
  ])('filters by %s', async (filter, names) => {
    const { ask, makeRuntime } = await startTestServer()
    await makeRuntime({ name: 'a', metadata: { team: 'red', tier: '1' } })
    await makeRuntime({
      name: 'b',
      template: 'base-medium',
      isolation: 'container',
      metadata: { team: 'red', 'a.b/c-d': '🙂', 'ü "&': '%' },
    })
    const { status, json } = await ask('GET', `${path}?${filter}`)
    expect(status).toBe(200)
    expect(json.data.map(({ name }: { name: string }) => name).sort()).toEqual(names)
  })

  test.each([
    ['limit=0', '/query/limit'],
    ['limit=101', '/query/limit'],
    ['state=asleep', '/query/state'],
    ['state=running,asleep', '/query/state'],
    ['colour=red', '/query/colour'],
    ['metadata.=x', '/query/metadata.'],
    ['cursor=abc', '/query/cursor'],
    ['name=a&name=b', '/query/name'],
    ['name=%ff', '/query'],
  ])('refuses the query %s', async (query, pointer) => {
    const { ask } = await startTestServer()
    const { status, json } = await ask('GET', `${path}?${query}`)
    expect(status).toBe(400)
    expect(json.error.details.issues[0].pointer).toBe(pointer)
  })
})

describe('update', () => {
  test('replaces metadata and counts a deadline from now', async () => {
    let now = Date.parse('2026-01-01T00:00:00Z')
    const { ask, makeRuntime } = await startTestServer({ now: () => now })
    const id = await makeRuntime({ metadata: { a: '1' } })
    now += 60_000
    const { json } = await ask('PATCH', `${path}/${id}`, { json: { metadata: { b: '2' }, timeout_secs: 600 } })
    expect(json).toMatchObject({ metadata: { b: '2' }, timeout_secs: 600, expires_at: '2026-01-01T00:11:00.000Z' })
    expect((await ask('PATCH', `${path}/${id}`, { json: { timeout_secs: null } })).json.expires_at).toBeNull()
  })

  test('refuses an ended runtime', async () => {
    const { ask, makeRuntime } = await startTestServer()
    const id = await makeRuntime()
    await ask('DELETE', `${path}/${id}`)
    expect((await ask('PATCH', `${path}/${id}`, { json: {} })).status).toBe(410)
  })
})

describe('delete', () => {
  test('answers after the engine has removed the runtime, and the same again', async () => {
    const { ask, makeRuntime, engine } = await startTestServer()
    const id = await makeRuntime()
    expect((await ask('DELETE', `${path}/${id}`)).status).toBe(204)
    expect(await engine.inspect(id)).toBeNull()
    expect((await ask('DELETE', `${path}/${id}`)).status).toBe(204)
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('terminated')
  })

  test('stops a create in progress', async () => {
    const { promise: dialled, resolve: tell } = Promise.withResolvers<string>()
    const { promise: answered, reject: refuse } = Promise.withResolvers<void>()
    let holding = false
    const engine = new FakeEngine({
      before: async (verb, id) => {
        if (verb !== 'dial' || !holding) return
        tell(id)
        await answered
      },
    })
    const { ask } = await startTestServer({ engine })
    holding = true
    const creating = ask('POST', path, { json: {} })
    const id = await dialled
    const deleting = ask('DELETE', `${path}/${id}`)
    await expect.poll(async () => (await ask('GET', `${path}/${id}`)).json.state).toMatch(/^terminat/)
    refuse(new EngineError('unavailable', 'no guest'))
    expect((await deleting).status).toBe(204)
    expect((await creating).status).toBe(410)
    expect(await engine.inspect(id)).toBeNull()
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('terminated')
  })

  test('is completed later if the engine fails', async () => {
    let failing = true
    const engine = new FakeEngine({
      before: (verb) => {
        if (verb === 'remove' && failing) throw new EngineError('unavailable', 'busy')
      },
    })
    failing = false
    const { ask, makeRuntime } = await startTestServer({ engine })
    const id = await makeRuntime()
    failing = true
    expect((await ask('DELETE', `${path}/${id}`)).status).toBe(503)
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('terminating')
    failing = false
    await expect.poll(async () => (await ask('GET', `${path}/${id}`)).json.state).toBe('terminated')
  })
})

test('every route below a runtime that does not run has the same error', async () => {
  const { ask, makeRuntime, engine } = await startTestServer()
  const [ended, failed] = [await makeRuntime(), await makeRuntime()]
  await ask('DELETE', `${path}/${ended}`)
  engine.end(failed, { reason: 'out_of_memory', message: 'host words' })
  await expect.poll(async () => (await ask('GET', `${path}/${failed}`)).json.state).toBe('failed')
  expect((await ask('GET', `${path}/${failed}`)).json.state_reason.code).toBe('out_of_memory')
  for (const [id, status, code] of [
    [ended, 410, 'runtime_terminated'],
    [failed, 409, 'runtime_not_running'],
  ] as const) {
    for (const inside of ['commands', 'files/stat?path=/', 'files/list?path=/', 'files/content?path=/a']) {
      const answer = await ask('GET', `${path}/${id}/${inside}`)
      expect([answer.status, answer.json.error.code]).toEqual([status, code])
    }
  }
})

test('a runtime ends at its requested deadline', async () => {
  let now = Date.now()
  const { ask, makeRuntime, engine } = await startTestServer({ now: () => now })
  const id = await makeRuntime({ timeout_secs: 60, on_timeout: 'terminate' })
  const other = await makeRuntime({ timeout_secs: 120, on_timeout: 'terminate' })
  now += 61_000
  await expect.poll(async () => (await ask('GET', `${path}/${id}`)).json.state).toBe('terminated')
  expect((await ask('GET', `${path}/${id}`)).json.state_reason.code).toBe('timeout')
  expect(await engine.inspect(id)).toBeNull()
  expect((await ask('GET', `${path}/${other}`)).json.state).toBe('running')
})
