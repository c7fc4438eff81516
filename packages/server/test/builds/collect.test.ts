import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Holds } from '../../src/foundation/images/holds.ts'
import { ended, FakeBuilder, importImage, startStep } from '../support/fake-builder.ts'
import { inside } from '../support/inside.ts'
import { startTestServer } from '../support/start-test-server.ts'

const templates = '/v1/agents/template'

const types = ['build', 'rebuild', 'delete', 'create', 'end', 'fail', 'memory', 'files', 'discard', 'restore'] as const

type Action = {
  readonly type: (typeof types)[number]
  readonly name: string
}

const action: fc.Arbitrary<Action> = fc.record({
  type: fc.constantFrom(...types),
  name: fc.constantFrom('one', 'two', 'three'),
})

test('after any sequence of operations, used images exist and unused ones are removed', async () => {
  const builder = new FakeBuilder()
  const server = await startTestServer({ builder, config: { buildCacheBytes: 0, buildsAtOnce: 2 } as never })
  const { ask, engine } = server
  const base = (await ask('GET', `${templates}/base-small`)).json.image_digest
  const runtimes = new Map<string, { image: string; name: string }>()
  const snapshots = new Map<string, string>()
  let count = 0
  builder.script = async ({ host, request }) => {
    const text = request.source.type === 'dockerfile' ? request.source.text : ''
    const imageDigest = await importImage(host, text)
    const { runtime } = await startStep(host, imageDigest, request)
    const checkpointId = await host.newCheckpointId()
    const taken = host.engine.ability('checkpoints')?.take(runtime.id, checkpointId, AbortSignal.timeout(5000))
    const checkpoint = (await taken) ?? null
    await host.cache.put(text, { type: 'image', imageDigest, sizeBytes: 1, facts: null })
    await runtime[Symbol.asyncDispose]()
    if (text.includes('fails')) throw new Error('it fails')
    return { imageDigest, checkpoint }
  }
  const build = async (name: string, dockerfile: string) => {
    const { status, json } = await ask('POST', `${templates}/build`, { json: { name, dockerfile } })
    expect(status).toBe(202)
    return json.build_id as string
  }
  const act = async ({ type, name }: Action) => {
    count += 1
    if (type === 'build') await ended(server, await build(name, 'FROM same'))
    if (type === 'rebuild') await build(name, `FROM ${count % 4}`)
    if (type === 'fail') await ended(server, await build(name, `FROM fails-${count}`))
    if (type === 'delete') await ask('DELETE', `${templates}/${name}`)
    const snapshot = `of-${name}`
    if (type === 'memory' || type === 'files') {
      const [id] = [...runtimes].find(([, runtime]) => runtime.name === name) ?? []
      const json = { name: snapshot, kind: type === 'memory' ? 'memory' : 'filesystem' }
      if (id !== undefined && !snapshots.has(snapshot)) {
        await inside(server).write(id, '/workspace/count', `${count}`)
        expect((await ask('POST', `/v1/agents/runtime/${id}/snapshot`, { json })).status).toBe(201)
        snapshots.set(snapshot, json.kind)
      }
    }
    if (type === 'discard') {
      expect((await ask('DELETE', `/v1/agents/snapshot/${snapshot}`)).status).toBe(snapshots.has(snapshot) ? 204 : 404)
      snapshots.delete(snapshot)
    }
    if (type === 'create' || (type === 'restore' && snapshots.has(snapshot))) {
      const from = type === 'create' ? { template: name } : { snapshot }
      const { status, json } = await ask('POST', '/v1/agents/runtime', { json: from })
      const image = status === 201 ? (await engine.inspect(json.runtime_id))?.spec.imageDigest : null
      if (image != null) runtimes.set(json.runtime_id, { image, name })
    }
    if (type === 'end') {
      const [id] = [...runtimes].find(([, runtime]) => runtime.name === name) ?? []
      if (id === undefined) return
      runtimes.delete(id)
      await ask('DELETE', `/v1/agents/runtime/${id}`)
    }
  }
  const settle = async () => {
    for (;;) {
      const { data } = (await ask('GET', `${templates}/build?limit=100`)).json
      if (data.every((one: { ended_at: string | null }) => one.ended_at !== null)) break
    }
    // A build that ends asks for a collection, and so this one comes after all that was before.
    await ended(server, await build('last', 'FROM last'))
  }
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 25 }), async (actions) => {
      for (const one of actions) await act(one)
      await settle()
      await ended(server, await build('last', 'FROM last'))
      const { data } = (await ask('GET', `${templates}?limit=100`)).json
      const used = new Set<string>([base, ...[...runtimes.values()].map(({ image }) => image)])
      for (const { image_digest } of data) if (image_digest !== null) used.add(image_digest)
      for (const [snapshot, kind] of snapshots) {
        const id = await server.makeRuntime({ snapshot })
        const made = await engine.inspect(id)
        expect(made?.restored).toBe(kind === 'memory')
        used.add(made?.spec.imageDigest ?? '')
        await ask('DELETE', `/v1/agents/runtime/${id}`)
      }
      const there = async () =>
        new Set(((await engine.ability('images')?.list()) ?? []).map(({ digest }) => digest as string))
      for (const digest of used) expect(await there()).toContain(digest)
      for (const one of data.filter((each: { state: string }) => each.state === 'ready')) {
        const id = await server.makeRuntime({ template: one.name })
        expect((await engine.inspect(id))?.restored).toBe(one.has_checkpoint)
        await ask('DELETE', `/v1/agents/runtime/${id}`)
      }
      const deadline = Date.now() + 20_000
      for (let extra = 1; extra > 0; ) {
        extra = [...(await there())].filter((digest) => !used.has(digest)).length
        expect(extra > 0 && Date.now() > deadline).toBe(false)
        if (extra > 0) await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }),
    { numRuns: 15, endOnFailure: true },
  )
}, 120_000)

test('images that are being published or held stay; all others are removed', async () => {
  const holds = new Holds()
  const removed: string[] = []
  const remove = (id: string) => async () => void removed.push(id)
  holds.hold('a', 'held')
  using collection = holds.beginCollection()
  holds.release('a')
  await collection.remove('held', remove('held'))
  await holds.beforePublish('b', 'new')
  await collection.remove('new', remove('new'))
  expect(removed).toEqual([])
  await collection.remove('other', remove('other'))
  expect(removed).toEqual(['other'])
  holds.release('b')
  using next = holds.beginCollection()
  await next.remove('new', remove('new'))
  expect(removed).toEqual(['other', 'new'])
})

test('an image is published only after a removal in progress has ended', async () => {
  const holds = new Holds()
  using collection = holds.beginCollection()
  const steps: string[] = []
  const { promise: gone, resolve } = Promise.withResolvers<void>()
  const removal = collection.remove('x', async () => {
    await gone
    steps.push('removed')
  })
  await new Promise((resolve) => setImmediate(resolve))
  const published = holds.beforePublish('a', 'x').then(() => void steps.push('published'))
  await new Promise((resolve) => setImmediate(resolve))
  resolve()
  await Promise.all([removal, published])
  expect(steps).toEqual(['removed', 'published'])
})
