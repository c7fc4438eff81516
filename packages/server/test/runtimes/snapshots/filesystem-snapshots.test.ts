import type { ImageDigest } from '@holt/engine'
import { expect, test, vi } from 'vitest'
import { ended, FakeBuilder } from '../../support/fake-builder.ts'
import { inside } from '../../support/inside.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

const runtimes = '/v1/agents/runtime'
const snapshots = '/v1/agents/snapshot'
const builds = '/v1/agents/template/build'

async function setUp() {
  const builder = new FakeBuilder()
  const server = await startTestServer({ builder })
  return { ...server, builder }
}

const files = ({ ask }: Pick<TestServer, 'ask'>, id: string, name: string) =>
  ask('POST', `${runtimes}/${id}/snapshot`, { json: { name, kind: 'filesystem' } })

test('it has the files and no process, and boots in any class and size that fits', async () => {
  const server = await setUp()
  const { makeRuntime, engine, ask } = server
  const { write, read, start, running } = inside(server)
  const source = await makeRuntime({ env: { MODE: 'fast' } })
  await write(source, '/workspace/a', 'then')
  await start(source, 'sleep')
  const { status, json } = await files(server, source, 'one')
  expect([status, json]).toMatchObject([201, { kind: 'filesystem', state: 'ready', disk_mib: 4096 }])
  expect(json.size_bytes).toBeGreaterThan(0)
  for (const settings of [{}, { isolation: 'container' }, { cpu: 2, memory: 2, disk: 8 }]) {
    const id = await makeRuntime({ snapshot: 'one', ...settings })
    expect([await read(id, '/workspace/a'), await running(id)]).toEqual(['then', []])
    expect((await engine.inspect(id))?.restored).toBe(false)
    expect(engine.guest(id)?.identity).toMatchObject({ runtime_id: id, env: { MODE: 'fast' } })
  }
  const small = await ask('POST', runtimes, { json: { snapshot: 'one', disk: 1 } })
  expect(small.json.error.code).toBe('disk_too_small')
  expect(small.json.error.message).toContain('snapshot')
})

test('it survives its runtime and template, and starts its application', async () => {
  const server = await setUp()
  const { ask, makeRuntime } = server
  const { write } = inside(server)
  const body = {
    name: 'app',
    dockerfile: 'FROM scratch',
    start_cmd: 'sleep',
    ready_cmd: 'true',
    on_restore: 'echo hello',
  }
  await ended(server, (await ask('POST', builds, { json: body })).json.build_id)
  const source = await makeRuntime({ template: 'app' })
  await write(source, '/workspace/a', 'then')
  await files(server, source, 'one')
  await ask('DELETE', `${runtimes}/${source}`)
  expect((await ask('DELETE', '/v1/agents/template/app')).status).toBe(204)
  const again = await server.restart()
  const id = await again.makeRuntime({ snapshot: 'one' })
  const after = inside(again)
  expect(await after.read(id, '/workspace/a')).toBe('then')
  expect((await after.running(id)).length).toBe(1)
  expect((await again.ask('GET', `${runtimes}/${id}`)).json.template.name).toBe('app')
})

test('the image of a deleted snapshot is removed with its last runtime', async () => {
  const server = await setUp()
  const { ask, makeRuntime, engine } = server
  const source = await makeRuntime()
  await inside(server).write(source, '/workspace/a', 'then')
  const { snapshot_id } = (await files(server, source, 'one')).json
  const [one, two] = [await makeRuntime({ snapshot: 'one' }), await makeRuntime({ snapshot: 'one' })]
  const image = (await engine.inspect(one))?.spec.imageDigest
  const images = async () => ((await engine.ability('images')?.list()) ?? []).map(({ digest }) => digest)
  expect((await ask('DELETE', `${snapshots}/${snapshot_id}`)).status).toBe(204)
  await ask('DELETE', `${runtimes}/${one}`)
  expect(await images()).toContain(image)
  await ask('DELETE', `${runtimes}/${two}`)
  await expect.poll(images).not.toContain(image)
})

test('the end of a runtime whose image is in use starts no collection', async () => {
  const server = await setUp()
  const { ask, makeRuntime, engine } = server
  const source = await makeRuntime()
  await inside(server).write(source, '/workspace/a', 'then')
  const { snapshot_id } = (await files(server, source, 'one')).json
  const runtime = await makeRuntime({ snapshot: 'one' })
  const images = engine.ability('images')
  if (images === null) throw new Error('the engine keeps no images')
  const image = (await engine.inspect(runtime))?.spec.imageDigest
  const looks = vi.spyOn(images, 'list')
  for (const id of [runtime, source]) expect((await ask('DELETE', `${runtimes}/${id}`)).status).toBe(204)
  await ask('DELETE', `${snapshots}/${snapshot_id}`)
  await expect.poll(async () => await images.has(image as ImageDigest)).toBe(false)
  expect(looks).toHaveBeenCalledTimes(1)
})

test('a template can be built on it with its settings, and not on a memory snapshot', async () => {
  const server = await setUp()
  const { ask, makeRuntime, builder } = server
  const source = await makeRuntime({ env: { MODE: 'fast' } })
  const { snapshot_id } = (await files(server, source, 'one')).json
  await ask('POST', `${runtimes}/${source}/snapshot`, { json: { name: 'memory' } })
  builder.script = async ({ host, request }) => {
    const { source: from } = request
    if (from.type !== 'snapshot') throw new Error(from.type)
    const base = await host.findSnapshot(from.reference)
    return { imageDigest: base.imageDigest, settings: { ...base.settings, env: base.env } }
  }
  for (const from_snapshot of ['one', snapshot_id]) {
    const started = await ask('POST', builds, { json: { name: `of-${from_snapshot}`, from_snapshot, steps: [] } })
    expect(started.status).toBe(202)
    expect(await ended(server, started.json.build_id)).toMatchObject({ status: 'ready' })
    const template = (await ask('GET', `/v1/agents/template/of-${from_snapshot}`)).json
    expect(template).toMatchObject({ env: { MODE: 'fast', FROM_TEMPLATE: 'yes' }, user: 'user', workdir: '/workspace' })
  }
  const refused = await ask('POST', builds, { json: { name: 'x', from_snapshot: 'memory' } })
  expect([refused.status, refused.json.error.code]).toEqual([400, 'unsupported_setting'])
  const missing = await ask('POST', builds, { json: { name: 'x', from_snapshot: 'nothing' } })
  expect([missing.status, missing.json.error.code]).toEqual([404, 'snapshot_not_found'])
})

test('the free disk without the reserve decides whether a snapshot is accepted', async () => {
  const server = await setUp()
  const id = await server.makeRuntime()
  const describe = server.engine.describe.bind(server.engine)
  server.engine.describe = async () => ({ ...(await describe()), diskFreeMiB: 500 })
  const { status, json } = await files(server, id, 'one')
  expect([status, json.error.code]).toEqual([507, 'disk_full'])
  expect((await server.ask('GET', `${snapshots}?state=failed`)).json.data).toHaveLength(1)
})

test('a slow source does not delay removals of others', async () => {
  const server = await setUp()
  const { ask, makeRuntime, engine } = server
  const id = await makeRuntime()
  const other = (await ask('POST', `${runtimes}/${id}/snapshot`, { json: { kind: 'memory' } })).json.snapshot_id
  await inside(server).write(id, '/workspace/a', 'then')
  expect((await files(server, id, 'gone')).status).toBe(201)
  const kept = async () => ({
    images: (await engine.ability('images')?.list())?.length ?? 0,
    checkpoints: (await engine.ability('checkpoints')?.list())?.length ?? 0,
  })
  const images = engine.ability('images')
  if (images === null) throw new Error('no images')
  const importing = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const slow: typeof images.import = async (tar, ...rest) => {
    importing.resolve()
    await released.promise
    return images.import(tar, ...rest)
  }
  const ability = engine.ability.bind(engine)
  engine.ability = ((name: 'images') => (name === 'images' ? { ...images, import: slow } : ability(name))) as never
  await inside(server).write(id, '/workspace/a', 'later')
  const answer = files(server, id, 'slow')
  await importing.promise
  const before = await kept()
  await ask('DELETE', `${snapshots}/${other}`)
  await ask('DELETE', `${snapshots}/gone`)
  await expect.poll(kept).toEqual({ images: before.images - 1, checkpoints: before.checkpoints - 1 })
  released.resolve()
  expect((await answer).json.state).toBe('ready')
  await makeRuntime({ snapshot: 'slow' })
})
