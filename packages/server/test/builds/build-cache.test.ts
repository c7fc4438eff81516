import { buffer } from 'node:stream/consumers'
import type { BuildHost } from '@holt/builder'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chooseVictims } from '../../src/builds/evict-cache.ts'
import { parseConfig } from '../../src/index.ts'
import { ended, FakeBuilder, importImage, type Script, startStep, until } from '../support/fake-builder.ts'
import { startTestServer } from '../support/start-test-server.ts'
import { tamper } from '../support/test-store.ts'

const builds = '/v1/agents/template/build'

async function setUp(env: Record<string, string> = {}) {
  const builder = new FakeBuilder()
  const { buildCacheBytes, buildsAtOnce } = parseConfig(env)
  const base = parseConfig({ HOLT_PORT: '0' })
  const server = await startTestServer({ builder, config: { buildCacheBytes, buildsAtOnce } as typeof base })
  let count = 0
  /** Runs something with the host of a build. */
  const inBuild = async (work: (host: BuildHost, signal: AbortSignal) => Promise<unknown>) => {
    count += 1
    const script: Script = async ({ host, signal }) => {
      await work(host, signal)
      return undefined
    }
    builder.script = script
    const json = { name: `app-${count}`, dockerfile: `FROM ${count}` }
    const { build_id } = (await server.ask('POST', builds, { json })).json
    const end = await ended(server, build_id)
    expect(
      end.status,
      JSON.stringify([end.reason, server.logged.map(({ facts }) => String((facts.err as Error | undefined)?.stack))]),
    ).toBe('ready')
  }
  const has = async (digest: string) => (await server.engine.ability('images')?.has(digest as never)) === true
  return { ...server, builder, inBuild, has }
}

const put = async (host: BuildHost, key: string, sizeBytes: number) => {
  const imageDigest = await importImage(host, key)
  await host.cache.put(key, { type: 'image', imageDigest, sizeBytes, facts: { of: key } })
  return imageDigest
}

test('a damaged cache entry is the same as a missing one', async () => {
  const { inBuild, stateDir, builder } = await setUp()
  const pulled = () => builder.runs.at(-1)?.parts.pulled
  await inBuild(async (host) => {
    const imageDigest = await put(host, 'a', 10)
    await pulled()?.put('b', { imageDigest, sizeBytes: 10, settings: {} as never })
    expect(await pulled()?.get('b')).toMatchObject({ imageDigest })
  })
  await tamper(stateDir, `UPDATE build_cache SET facts_json = '{"half'`)
  await tamper(stateDir, `UPDATE pulled_images SET settings_json = '{"half'`)
  await inBuild(async (host) => {
    expect(await host.cache.get('a')).toBeNull()
    expect(await pulled()?.get('b')).toBeNull()
  })
})

test('a build finds the cached results of an earlier build', async () => {
  const { inBuild, engine } = await setUp()
  let checkpointId = ''
  await inBuild(async (host) => {
    expect(await host.cache.get('a')).toBeNull()
    const image = await put(host, 'a', 10)
    const { runtime } = await startStep(host, image)
    checkpointId = await host.newCheckpointId()
    await host.engine.ability('checkpoints')?.take(runtime.id, checkpointId, AbortSignal.timeout(5000))
    await runtime[Symbol.asyncDispose]()
    const facts = { imageDigest: image, sizeBytes: 5, facts: null }
    await host.cache.put('b', { type: 'checkpoint', checkpointId, ...facts })
  })
  await inBuild(async (host) => {
    expect(await host.cache.get('a')).toMatchObject({ type: 'image', sizeBytes: 10, facts: { of: 'a' } })
    expect(await host.cache.get('b')).toMatchObject({ type: 'checkpoint', checkpointId, sizeBytes: 5, facts: null })
  })
  const kept = await engine.ability('checkpoints')?.list()
  expect(kept?.map((one) => one.checkpointId)).toContain(checkpointId)
})

test('the least recently used entry is removed from a full cache, and entries in use stay', async () => {
  const { inBuild, has } = await setUp({ HOLT_BUILD_CACHE_SIZE: '1MiB' })
  const images: Record<string, string> = {}
  const half = 2 ** 19
  await inBuild(async (host) => {
    for (const key of ['one', 'two']) {
      images[key] = await put(host, key, half)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })
  const { promise: go, resolve } = Promise.withResolvers<void>()
  await inBuild(async (host) => void (await host.cache.get('one')))
  await inBuild(async (host) => {
    images.three = await put(host, 'three', half)
  })
  await until(async () => !(await has(images.two ?? '')))
  expect([await has(images.one ?? ''), await has(images.three ?? '')]).toEqual([true, true])
  resolve()
  await go
  await inBuild(async (host) => {
    expect(await host.cache.get('two')).toBeNull()
    expect(await host.cache.get('one')).not.toBeNull()
    // Larger than the cache, and used: it stays for as long as the build runs.
    images.four = await put(host, 'four', 4 * half)
    expect(await host.engine.ability('images')?.has(images.four as never)).toBe(true)
  })
  await until(async () => !(await has(images.four ?? '')))
})

test('a cache mount keeps its content, and a locked one has one user at a time', async () => {
  const { inBuild } = await setUp()
  const chunks = async function* (text: string) {
    yield Buffer.from(text)
  }
  await inBuild(async (host, signal) => {
    const mount = await host.cache.openMount('npm', { locked: true, signal })
    expect(mount.read()).toBeNull()
    let second = 'waits'
    const other = host.cache.openMount('npm', { locked: true, signal }).then(async (opened) => {
      second = 'has it'
      const content = opened.read()
      expect(content === null ? '' : String(await buffer(content))).toBe('first')
      await opened[Symbol.asyncDispose]()
    })
    const stop = new AbortController()
    const third = host.cache.openMount('npm', { locked: true, signal: stop.signal })
    stop.abort(new Error('gone'))
    await expect(third).rejects.toThrow('gone')
    await mount.write(chunks('first'))
    expect(second).toBe('waits')
    await mount[Symbol.asyncDispose]()
    await other
  })
  await inBuild(async (host, signal) => {
    await using first = await host.cache.openMount('npm', { locked: false, signal })
    await using also = await host.cache.openMount('npm', { locked: false, signal })
    await also.write(chunks('second'))
    await first.write(chunks('third'))
    await using other = await host.cache.openMount('pip', { locked: false, signal })
    expect(other.read()).toBeNull()
  })
  await inBuild(async (host, signal) => {
    await using mount = await host.cache.openMount('npm', { locked: false, signal })
    const content = mount.read()
    expect(content === null ? null : String(await buffer(content))).toBe('third')
    const broken = async function* () {
      yield Buffer.from('half')
      throw new Error('the step is gone')
    }
    await expect(mount.write(broken())).rejects.toThrow('the step is gone')
  })
  await inBuild(async (host, signal) => {
    await using mount = await host.cache.openMount('npm', { locked: false, signal })
    expect(String(await buffer(mount.read() as AsyncIterable<Uint8Array>))).toBe('third')
  })
})

test('pulled images are found again, and forgotten if their image is gone', async () => {
  const { inBuild, builder, engine } = await setUp()
  const settings = { env: {}, user: '', workdir: '/', shell: [], labels: {}, ports: [], onBuild: [] }
  let digest = ''
  await inBuild(async (host) => {
    const { pulled } = builder.runs.at(-1)?.parts ?? {}
    expect(await pulled?.get('docker.io/x@sha256:1')).toBeNull()
    const imageDigest = await importImage(host, 'pulled')
    digest = imageDigest
    await pulled?.put('docker.io/x@sha256:1', { imageDigest, sizeBytes: 7, settings })
  })
  await inBuild(async () => {
    const { pulled } = builder.runs.at(-1)?.parts ?? {}
    expect(await pulled?.get('docker.io/x@sha256:1')).toEqual({ imageDigest: digest, sizeBytes: 7, settings })
    await engine.ability('images')?.remove(digest as never)
    expect(await pulled?.get('docker.io/x@sha256:1')).toBeNull()
  })
})

const entries = fc.array(
  fc.record({
    sizeBytes: fc.integer({ min: 0, max: 100 }),
    usedAt: fc.integer({ min: 0, max: 1000 }),
    held: fc.boolean(),
  }),
  { maxLength: 30 },
)

test('eviction never removes held entries, nothing if all fit, and the least recently used first', () => {
  fc.assert(
    fc.property(entries, fc.integer({ min: 0, max: 1000 }), (given, limit) => {
      const kept = given.map((entry, index) => ({ ...entry, ids: [`${entry.held ? 'held' : 'free'} ${index}`] }))
      const victims = new Set(chooseVictims(kept, limit, (id) => id.startsWith('held')))
      const left = kept.filter((entry) => !victims.has(entry))
      const sum = (list: typeof kept) => list.reduce((total, { sizeBytes }) => total + sizeBytes, 0)
      expect([...victims].some(({ held }) => held)).toBe(false)
      if (sum(kept) <= limit) expect(victims.size).toBe(0)
      if (sum(left) > limit) expect(left.every(({ held }) => held)).toBe(true)
      const newest = Math.max(0, ...[...victims].map(({ usedAt }) => usedAt))
      for (const one of left) if (!one.held) expect(one.usedAt).toBeGreaterThanOrEqual(newest)
      // The last one that went was needed to go.
      const last = [...victims].at(-1)
      if (last !== undefined) expect(sum(left) + last.sizeBytes).toBeGreaterThan(limit)
    }),
  )
})

test('a shared cache mount that another build replaces before its read is empty', async () => {
  const { inBuild } = await setUp()
  const write = async (host: BuildHost, text: string, signal: AbortSignal) => {
    await using mount = await host.cache.openMount('npm', { locked: false, signal })
    await mount.write([Buffer.from(text)] as unknown as AsyncIterable<Uint8Array>)
  }
  await inBuild(async (host, signal) => {
    await write(host, 'first', signal)
    await using mount = await host.cache.openMount('npm', { locked: false, signal })
    await write(host, 'second', signal)
    const content = mount.read()
    // A stream that nobody listens to yet would end the service here.
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await buffer(content as AsyncIterable<Uint8Array>)).toEqual(Buffer.alloc(1024))
  })
})
