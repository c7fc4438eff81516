import { BuilderError } from '@holt/builder'
import type { ImageDigest } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test, vi } from 'vitest'
import type { BaseSource } from '../../../src/index.ts'
import { checkpointsOf } from '../../support/checkpointing-builder.ts'
import { startTestServer, tinySource } from '../../support/start-test-server.ts'
import { storedRows, tamper } from '../../support/test-store.ts'

const images = (engine: FakeEngine) => engine.ability('images')?.list()

/** A source that counts how often it was asked. */
function counting(digest = 'one', tree = 'a tree'): BaseSource & { made: number } {
  const source = {
    ...tinySource,
    made: 0,
    digest: async () => digest,
    make: async (options: Parameters<BaseSource['make']>[0]) => {
      source.made += 1
      return {
        ...(await tinySource.make(options)),
        tar: (async function* () {
          yield Buffer.from(tree)
        })(),
      }
    },
  }
  return source
}

test('three sizes share one image, and none has a checkpoint', async () => {
  const { ask, engine } = await startTestServer()
  const { data } = (await ask('GET', '/v1/agents/template')).json
  expect(data.map(({ name }: { name: string }) => name).sort()).toEqual(['base-large', 'base-medium', 'base-small'])
  for (const template of data) {
    expect(template).toMatchObject({
      state: 'ready',
      kind: 'system',
      tag: 'latest',
      has_checkpoint: false,
      progress: null,
      user: 'user',
      workdir: '/workspace',
      facts: { python: '3.13' },
      source: 'a test, exactly',
    })
  }
  expect(await images(engine)).toHaveLength(1)
  expect(await checkpointsOf(engine)).toEqual([])
  expect((await ask('GET', '/readyz')).json.status).toBe('ready')
})

test('are found at the next start and not rebuilt', async () => {
  const source = counting()
  const first = await startTestServer({ baseSource: source })
  const before = (await first.ask('GET', '/v1/agents/template')).json
  const second = await first.restart()
  expect((await second.ask('GET', '/v1/agents/template')).json).toEqual(before)
  expect(source.made).toBe(1)
})

test('are rebuilt when the recipe changes, and the old image goes when no runtime uses it', async () => {
  const first = await startTestServer({ baseSource: counting('one', 'old tree') })
  const old = (await first.ask('GET', '/v1/agents/template/base-small')).json.image_digest
  const id = await first.makeRuntime()
  const second = await first.restart({ baseSource: counting('two', 'new tree') })
  const now = (await second.ask('GET', '/v1/agents/template/base-small')).json
  expect(now.image_digest).not.toBe(old)
  expect(await images(first.engine)).toHaveLength(2)
  expect((await second.ask('GET', `/v1/agents/runtime/${id}`)).json.state).toBe('running')
  await second.ask('DELETE', `/v1/agents/runtime/${id}`)
  await second.restart({ baseSource: counting('two', 'new tree') })
  expect((await images(first.engine))?.map(({ digest }) => digest)).toEqual([now.image_digest])
})

test('are not ready while a missing image is rebuilt', async () => {
  const first = await startTestServer({ baseSource: counting() })
  const { digest } = (await images(first.engine))?.[0] ?? {}
  await first.close()
  await first.engine.ability('images')?.remove(digest ?? ('' as ImageDigest))
  const states: string[] = []
  const watching: BaseSource = {
    ...counting(),
    make: async (options) => {
      const rows = await storedRows(first.stateDir, "SELECT state FROM templates WHERE kind = 'system'")
      states.push(...rows.map(({ state }) => state))
      return counting().make(options)
    },
  }
  const second = await first.restart({ baseSource: watching })
  expect(states).toEqual(['building', 'building', 'building'])
  expect((await second.ask('GET', '/v1/agents/template/base-small')).json.state).toBe('ready')
  await second.makeRuntime()
})

test('a create during their build answers the progress', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: making, resolve: tell } = Promise.withResolvers<void>()
  const slow: BaseSource = {
    ...tinySource,
    make: async (options) => {
      options.onProgress({ phase: 'installing packages', done: 1, total: 2 })
      tell()
      await held
      return tinySource.make(options)
    },
  }
  const starting = startTestServerWithoutWaiting(slow)
  const { ask, done } = await starting
  await making
  const { status, json, headers } = await ask('POST', '/v1/agents/runtime', { json: {} })
  expect([status, json.error.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '5'])
  expect(json.error.message).toContain('installing packages, 41 % done')
  expect((await ask('GET', '/readyz')).status).toBe(503)
  expect((await ask('GET', '/v1/agents/template/base-small')).json.progress).toMatchObject({
    phase: 'installing packages',
  })
  release()
  await done
  expect((await ask('GET', '/readyz')).status).toBe(200)
})

async function startTestServerWithoutWaiting(baseSource: BaseSource) {
  const { server, engine, restart, ...rest } = await startTestServer({ baseSource: null })
  await server.close()
  const { createServer, parseConfig } = await import('../../../src/index.ts')
  const { keepingLog } = await import('../../support/start-test-server.ts')
  const config = { ...parseConfig({ HOLT_STATE_DIR: rest.stateDir, HOLT_PORT: '0' }) }
  const next = await createServer({ config, engine, log: keepingLog().log, baseSource })
  const { onTestFinished } = await import('vitest')
  onTestFinished(() => next.close())
  const ask = async (method: string, path: string, { json }: { json?: unknown } = {}) => {
    const response = await fetch(`${next.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${next.adminKey}`,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
    return { status: response.status, headers: response.headers, json: (await response.json()) as any }
  }
  return { ask, done: next.templatesMade }
}

test('are rebuilt when the image format changes', async () => {
  const source = counting()
  const first = await startTestServer({ baseSource: source })
  const images = first.engine.ability('images')
  if (images === null) throw new Error('no images')
  Object.defineProperty(images, 'format', { value: 'newer' })
  const second = await first.restart()
  expect(source.made).toBe(2)
  await second.restart()
  expect(source.made).toBe(2)
})

test('progress never falls', async () => {
  const dones: number[] = []
  const { ask } = await startTestServerWithoutWaiting({
    ...tinySource,
    make: async (options) => {
      for (const done of [0, 1, 2]) options.onProgress({ phase: 'testing', done, total: 2 })
      return tinySource.make(options)
    },
  })
  for (let ready = false; !ready; ) {
    const { data } = (await ask('GET', '/v1/agents/template')).json
    dones.push(
      ...data.flatMap(({ progress }: { progress: { done: number } | null }) => progress?.done ?? []).slice(0, 1),
    )
    ready = data.every(({ state }: { state: string }) => state === 'ready')
  }
  expect(dones).toEqual(dones.toSorted((a, b) => a - b))
})

test('an unreachable source is retried without a restart, and the failure says why', async () => {
  let reachable = false
  const source: BaseSource = {
    ...tinySource,
    make: async (options) => {
      if (!reachable) throw new BuilderError('source_unreachable', 'the registry is asleep.')
      return tinySource.make(options)
    },
  }
  const { ask } = await startTestServer({ baseSource: source, templateRetryMs: 1 })
  const { json, status } = await ask('GET', '/readyz')
  expect([status, json.reasons[0]]).toEqual([
    503,
    expect.stringMatching(/base-small (could not be made: the registry is asleep\.|is being made)/),
  ])
  reachable = true
  await vi.waitFor(async () => expect((await ask('GET', '/readyz')).status).toBe(200), {
    timeout: 10_000,
    interval: 10,
  })
  expect((await ask('GET', '/v1/agents/template/base-small')).json).toMatchObject({
    state: 'ready',
    state_reason: null,
  })
})

test('stay ready if their next image cannot be built, and get it later', async () => {
  const first = await startTestServer({ baseSource: counting('one', 'old tree') })
  let reachable = false
  const next = counting('two', 'new tree')
  const make = next.make
  next.make = (options) => (reachable ? make(options) : Promise.reject(new BuilderError('source_unreachable', 'no')))
  const second = await first.restart({ baseSource: next, templateRetryMs: 1 })
  expect((await second.ask('GET', '/readyz')).status).toBe(200)
  await second.makeRuntime()
  reachable = true
  await vi.waitFor(() => expect(next.made).toBe(1), { timeout: 10_000, interval: 10 })
})

test('a failing source leaves failed templates with a reason, and the next start retries', async () => {
  const failing: BaseSource = { ...tinySource, make: () => Promise.reject(new Error('/secret/path is gone')) }
  const first = await startTestServer({ baseSource: failing })
  const { json, text } = await first.ask('GET', '/v1/agents/template/base-small')
  expect(json).toMatchObject({ state: 'failed', state_reason: { code: 'build_failed' } })
  expect(text).not.toContain('/secret')
  expect((await first.ask('GET', '/readyz')).json.reasons[0]).toContain('could not be made')
  expect((await first.ask('POST', '/v1/agents/runtime', { json: {} })).status).toBe(503)
  const second = await first.restart({ baseSource: tinySource })
  await second.makeRuntime()
})

test('the seed of an earlier version, which was killed at its checkpoint, is removed', async () => {
  const first = await startTestServer()
  const { engine } = first
  const seed = await first.makeRuntime()
  const checkpointId = `cp${seed.slice(2)}`
  await engine.ability('checkpoints')?.take(seed, checkpointId, AbortSignal.timeout(5000))
  await first.close()
  await tamper(first.stateDir, `UPDATE templates SET seed_id = '${seed}', state = 'building' WHERE name = 'base-small'`)
  await tamper(first.stateDir, 'DELETE FROM runtimes')
  const next = await first.restart()
  expect((await next.ask('GET', '/v1/agents/template/base-small')).json.state).toBe('ready')
  expect(await engine.inspect(seed)).toBeNull()
  expect(await checkpointsOf(engine)).toEqual([])
  expect(next.logged).toEqual([])
})

test('are ready in a host without checkpoints', async () => {
  const isolation = {
    gvisor: { available: false, reason: 'none', fix: null },
    container: { available: true, runner: 'fake', canCheckpoint: false },
  } as const
  const { ask } = await startTestServer({ engine: new FakeEngine({ facts: { isolation } }) })
  expect((await ask('GET', '/v1/agents/template/base-small')).json.state).toBe('ready')
})

test.each(['nothing', 'base-small:v9', 'tm00000000000000000000', '%00'])(
  'the template %s is not found',
  async (reference) => {
    const { ask } = await startTestServer()
    expect((await ask('GET', `/v1/agents/template/${reference}`)).json.error.code).toBe('template_not_found')
  },
)
