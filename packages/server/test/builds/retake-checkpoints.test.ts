import type { RuntimeId } from '@holt/engine'
import { FakeEngine, type FakeEngineOptions } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import {
  application,
  buildTemplate,
  checkpointing,
  checkpointsOf,
  isRestored,
} from '../support/checkpointing-builder.ts'
import { catchKills, startMortalServer } from '../support/mortal-server.ts'
import { startTestServer, type TestServer } from '../support/start-test-server.ts'
import { storedRows, tamper } from '../support/test-store.ts'

const templates = '/v1/agents/template'
const pollTimeout = { timeout: 25_000, interval: 20 }

/** An engine whose verbs a test may watch, delay and fail. */
function watched() {
  const watch: { before: NonNullable<FakeEngineOptions['before']> } = { before: () => {} }
  const engine = new FakeEngine({ before: (verb, id) => watch.before(verb, id) })
  return { engine, watch }
}

async function setUp() {
  const { engine, watch } = watched()
  const server = await startTestServer({ engine, builder: checkpointing() })
  return { server, engine, watch }
}

/** Makes every checkpoint one of an older gVisor. */
async function upgrade(engine: FakeEngine): Promise<void> {
  for (const { checkpointId } of await checkpointsOf(engine)) engine.spoil(checkpointId, 'incompatible')
}

const retakes = async ({ ask }: TestServer) => (await ask('GET', '/readyz')).json.retakes
const counts = { waiting: 0, taken: 0, failed: 0, unknown: 0 }
const rowOf = async ({ stateDir }: TestServer, name: string) =>
  (await storedRows(stateDir, `SELECT * FROM templates WHERE name = '${name}'`))[0]

test('a start after an upgrade takes the checkpoints of built templates again, and creates are restored', async () => {
  const { server, engine, watch } = await setUp()
  await buildTemplate(server, 'app', {
    ...application,
    ready_timeout_secs: 7,
    network_policy: { allow: [{ host: 'api.example.com' }] },
  })
  await buildTemplate(server, 'other')
  expect(await isRestored(server, 'app')).toBe(true)
  const before = await rowOf(server, 'app')
  expect(await retakes(server)).toEqual(counts)
  await upgrade(engine)
  const seeds: RuntimeId[] = []
  watch.before = (verb, id) => {
    if (verb === 'take') seeds.push(id)
  }
  const next = await server.restart()
  await expect.poll(() => retakes(next), pollTimeout).toEqual({ ...counts, taken: 2 })
  expect((await next.ask('GET', '/metrics')).text).toContain('holt_checkpoint_retakes{state="taken"} 2')
  for (const name of ['app', 'other']) expect(await isRestored(next, name)).toBe(true)
  // The application starts with the network of its build.
  const seedOfApp = next.gateway.attached.find(({ options }) => seeds.includes(options.id))
  expect([seedOfApp?.hosts, seedOfApp?.closed]).toEqual([['api.example.com'], true])
  const after = await rowOf(next, 'app')
  expect(after.checkpoint_id).not.toBe(before.checkpoint_id)
  expect(after).toMatchObject({ image_digest: before.image_digest, state: 'ready', build_id: before.build_id })
  // The old checkpoints, the entries of the cache that name them and the seeds are gone.
  await expect.poll(async () => (await checkpointsOf(engine)).length, pollTimeout).toBe(2)
  expect(await storedRows(next.stateDir, 'SELECT * FROM build_cache')).toEqual([])
  expect(await storedRows(next.stateDir, 'SELECT * FROM build_resources')).toEqual([])
  for (const seed of seeds) expect(await engine.inspect(seed)).toBeNull()
  const last = await next.restart()
  expect((await rowOf(last, 'app')).checkpoint_id).toBe(after.checkpoint_id)
})

test('checkpoints are taken one at a time, the smallest first', async () => {
  const { server, engine, watch } = await setUp()
  await buildTemplate(server, 'large', { ...application, memory: '512MiB' })
  await buildTemplate(server, 'small', { ...application, memory: '128MiB' })
  await upgrade(engine)
  const taken: (number | undefined)[] = []
  let atOnce = 0
  let most = 0
  watch.before = async (verb, id) => {
    if (verb !== 'take') return
    const memoryMiB = (await engine.inspect(id))?.spec.memoryMiB
    if (memoryMiB !== 128 && memoryMiB !== 512) return
    taken.push(memoryMiB)
    most = Math.max(most, ++atOnce)
    await new Promise((resolve) => setTimeout(resolve, 50))
    atOnce -= 1
  }
  const next = await server.restart()
  await expect.poll(() => retakes(next), pollTimeout).toEqual({ ...counts, taken: 2 })
  expect([taken, most]).toEqual([[128, 512], 1])
})

test('a template whose checkpoint cannot be taken again boots cold, and the next start tries again', async () => {
  const { server, engine, watch } = await setUp()
  await buildTemplate(server, 'app')
  const before = await rowOf(server, 'app')
  await upgrade(engine)
  watch.before = async (verb, id) => {
    if (verb === 'take' && (await engine.inspect(id))?.spec.memoryMiB === 256) throw new Error('no more')
  }
  const next = await server.restart()
  await expect.poll(() => retakes(next), pollTimeout).toEqual({ ...counts, failed: 1 })
  expect(next.logged).toContainEqual(
    expect.objectContaining({
      message: 'a checkpoint could not be taken again: runtimes of its template boot cold',
      facts: expect.objectContaining({ template: 'app' }),
    }),
  )
  expect(await isRestored(next, 'app')).toBe(false)
  expect((await rowOf(next, 'app')).checkpoint_id).toBe(before.checkpoint_id)
  expect(await storedRows(next.stateDir, 'SELECT * FROM build_resources')).toEqual([])
  watch.before = () => {}
  const last = await next.restart()
  await expect.poll(() => retakes(last), pollTimeout).toEqual({ ...counts, taken: 1 })
  expect(await isRestored(last, 'app')).toBe(true)
})

test('the log does not contain the output of an application', async () => {
  const { server, engine } = await setUp()
  await buildTemplate(server, 'app', { start_cmd: 'echo a-secret', ready_cmd: 'false', ready_timeout_secs: 1 })
  await upgrade(engine)
  const next = await server.restart()
  await expect.poll(() => retakes(next), pollTimeout).toEqual({ ...counts, failed: 1 })
  const ofRetake = next.logged.filter(({ message }) => message.startsWith('a checkpoint could not be taken again'))
  expect(ofRetake).toMatchObject([{ facts: { code: 'ready_timeout' } }])
  expect(JSON.stringify(next.logged)).not.toContain('a-secret')
})

test('a template of an earlier version of Holt, which stored no recipe, is not retaken', async () => {
  const { server, engine } = await setUp()
  await buildTemplate(server, 'app')
  await tamper(server.stateDir, 'UPDATE templates SET checkpoint_recipe_json = NULL')
  await upgrade(engine)
  const next = await server.restart()
  await expect.poll(() => retakes(next), pollTimeout).toEqual({ ...counts, unknown: 1 })
  expect(await isRestored(next, 'app')).toBe(false)
})

test.each(['deleted', 'built'] as const)('a template that is %s meanwhile keeps its new checkpoint', async (how) => {
  const { server, engine, watch } = await setUp()
  await buildTemplate(server, 'app')
  await upgrade(engine)
  const { promise: reached, resolve: reach } = Promise.withResolvers<RuntimeId>()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  watch.before = async (verb, id) => {
    if (verb !== 'take' || (await engine.inspect(id))?.spec.memoryMiB !== 256) return
    watch.before = () => {}
    reach(id)
    await held
  }
  const next = await server.restart()
  const seed = await reached
  expect(await retakes(next)).toEqual({ ...counts, waiting: 1 })
  if (how === 'deleted') expect((await next.ask('DELETE', `${templates}/app`)).status).toBe(204)
  else await buildTemplate(next, 'app', { ...application, dockerfile: 'FROM other' })
  const after = await rowOf(next, 'app')
  release()
  await expect.poll(() => retakes(next), pollTimeout).toEqual(counts)
  expect(await engine.inspect(seed)).toBeNull()
  expect(await rowOf(next, 'app')).toEqual(after)
  expect(await storedRows(next.stateDir, 'SELECT * FROM build_resources')).toEqual([])
  await expect.poll(async () => (await checkpointsOf(engine)).length, pollTimeout).toBe(how === 'deleted' ? 1 : 2)
})

test('deleted templates are skipped', async () => {
  const { server, engine, watch } = await setUp()
  await buildTemplate(server, 'first', { ...application, memory: '128MiB' })
  await buildTemplate(server, 'second', { ...application, memory: '512MiB' })
  await upgrade(engine)
  const booted: (number | undefined)[] = []
  let next: TestServer | null = null
  const { promise: started, resolve: start } = Promise.withResolvers<void>()
  watch.before = async (verb, id) => {
    if (verb !== 'take') return
    const memoryMiB = (await engine.inspect(id))?.spec.memoryMiB
    if (memoryMiB !== 128 && memoryMiB !== 512) return
    booted.push(memoryMiB)
    await started
    await next?.ask('DELETE', `${templates}/second`)
  }
  next = await server.restart()
  start()
  const { ask } = next
  await expect
    .poll(async () => (await ask('GET', '/readyz')).json.retakes, pollTimeout)
    .toEqual({ ...counts, taken: 1 })
  expect(booted).toEqual([128])
})

test('an interrupted retake leaves nothing, and the next start takes the checkpoint', async () => {
  const { server, engine, watch } = await setUp()
  await buildTemplate(server, 'app')
  await upgrade(engine)
  const { promise: reached, resolve: reach } = Promise.withResolvers<RuntimeId>()
  watch.before = async (verb, id) => {
    if (verb !== 'dial' || (await engine.inspect(id))?.spec.memoryMiB !== 256) return
    reach(id)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const next = await server.restart()
  const seed = await reached
  await next.close()
  expect(await engine.inspect(seed)).toBeNull()
  expect(await storedRows(next.stateDir, 'SELECT * FROM build_resources')).toEqual([])
  expect(next.logged.filter(({ message }) => message.includes('taken again'))).toEqual([])
  watch.before = () => {}
  const last = await next.restart()
  await expect.poll(() => retakes(last), pollTimeout).toEqual({ ...counts, taken: 1 })
  expect(await isRestored(last, 'app')).toBe(true)
})

test('a killed retake is cleaned up, and the next start takes the checkpoint', async () => {
  using _ = catchKills()
  const { engine, watch } = watched()
  const builder = checkpointing()
  const server = await startMortalServer(engine, { builder })
  await buildTemplate(server, 'app')
  await upgrade(engine)
  await server.close()
  const { promise: reached, resolve: reach } = Promise.withResolvers<RuntimeId>()
  watch.before = async (verb, id) => {
    if (verb !== 'take' || (await engine.inspect(id))?.spec.memoryMiB !== 256) return
    reach(id)
    process.kill(process.pid, 'SIGKILL')
    await new Promise(() => {})
  }
  const next = await startMortalServer(engine, { builder }, server.stateDir)
  const seed = await reached
  await next.killed
  next.abandon()
  watch.before = () => {}
  expect(await engine.inspect(seed)).not.toBeNull()
  const last = await startMortalServer(engine, { builder }, server.stateDir)
  await expect.poll(() => retakes(last), pollTimeout).toEqual({ ...counts, taken: 1 })
  expect(await engine.inspect(seed)).toBeNull()
  expect(await isRestored(last, 'app')).toBe(true)
  expect(await storedRows(last.stateDir, 'SELECT * FROM build_resources')).toEqual([])
})
