import type { RuntimeId } from '@holt/engine'
import { FakeEngine, type FakeEngineOptions } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import type { Store } from '../../../src/foundation/store/open-store.ts'
import { TestArtifacts } from '../../support/artifact-ways.ts'
import { application, buildTemplate, checkpointing, isRestored } from '../../support/checkpointing-builder.ts'
import { startHost, type TestHost } from '../../support/fleet.ts'
import { fleetStores } from '../../support/fleet-stores.ts'
import { openTestStore } from '../../support/test-store.ts'

const pollTimeout = { timeout: 25_000, interval: 50 }
const counts = { waiting: 0, taken: 0, failed: 0, unknown: 0 }
const templates = '/v1/agents/template'

/** The work of the engines of another class: the seeds whose checkpoint was taken. */
interface Watch {
  readonly taken: RuntimeId[]
  beforeTake: () => void | Promise<void>
}

/** A fleet with a host that has built the template `app`, and hosts of another class on demand. */
async function setUp(open: () => Promise<Store> = openTestStore) {
  const store = await open()
  const artifacts = new TestArtifacts()
  const watch: Watch = { taken: [], beforeTake: () => {} }
  const before: FakeEngineOptions['before'] = async (verb, id) => {
    if (verb !== 'take') return
    watch.taken.push(id as RuntimeId)
    await watch.beforeTake()
  }
  const start = (engine: FakeEngine) =>
    startHost(store, { artifactWays: artifacts, places: 'own', builder: checkpointing(), engine })
  const builder = await start(new FakeEngine())
  await buildTemplate(builder.server, 'app', application)
  const startOther = () => start(new FakeEngine({ classId: 'another', before }))
  return { store, artifacts, watch, builder, startOther }
}

const retakes = async ({ server }: TestHost) => (await server.ask('GET', '/readyz')).json.retakes
const becomesRestored = (host: TestHost) => expect.poll(() => isRestored(host.server, 'app'), pollTimeout).toBe(true)
/** Waits until a host has looked for each checkpoint that it wanted: another one is taken last. */
async function hasLooked(host: TestHost, builder: TestHost): Promise<void> {
  const name = `after-${host.hostId}`.toLowerCase()
  await buildTemplate(builder.server, name, application)
  await expect.poll(() => isRestored(host.server, name), pollTimeout).toBe(true)
}

const classRows = (store: Store) =>
  store.db.selectFrom('template_checkpoints').select(['class_id', 'checkpoint_id']).orderBy('class_id').execute()
const claims = (store: Store) => store.db.selectFrom('template_retakes').select(['class_id', 'host_id']).execute()

test.each(fleetStores)(
  'over %s the first host of a class that boots a template takes a checkpoint',
  async (_, open) => {
    const { store, artifacts, watch, builder, startOther } = await setUp(open)
    const one = await startOther()
    expect(await isRestored(one.server, 'app')).toBe(false)
    await becomesRestored(one)
    expect(await retakes(one)).toEqual({ ...counts, taken: 1 })
    const two = await startOther()
    expect(await isRestored(two.server, 'app')).toBe(true)
    expect(await isRestored(builder.server, 'app')).toBe(true)
    expect(watch.taken).toHaveLength(1)
    expect(await one.engine.inspect(watch.taken[0] as RuntimeId)).toBeNull()
    const rows = await classRows(store)
    expect(rows.map(({ class_id }) => class_id)).toEqual(['another', expect.anything()])
    for (const { checkpoint_id } of rows) expect(artifacts.kept.has(checkpoint_id)).toBe(true)
    expect(await claims(store)).toEqual([])
    expect(await store.db.selectFrom('build_resources').selectAll().execute()).toEqual([])
  },
)

test('one host of a class takes a checkpoint at a time', async () => {
  const { store, watch, builder, startOther } = await setUp()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  watch.beforeTake = async () => {
    watch.beforeTake = () => {}
    reach()
    await held
  }
  const [one, two] = [await startOther(), await startOther()]
  expect(await isRestored(one.server, 'app')).toBe(false)
  await reached
  expect(await claims(store)).toEqual([{ class_id: 'another', host_id: one.hostId }])
  expect(await isRestored(two.server, 'app')).toBe(false)
  await hasLooked(two, builder)
  expect(await isRestored(two.server, 'app')).toBe(false)
  release()
  await becomesRestored(two)
  expect(await isRestored(one.server, 'app')).toBe(true)
  expect(watch.taken).toHaveLength(2)
})

test('a checkpoint that cannot be taken is tried again by the next epoch of its host alone', async () => {
  const { store, watch, builder, startOther } = await setUp()
  watch.beforeTake = () => {
    throw new Error('no more')
  }
  const one = await startOther()
  await isRestored(one.server, 'app')
  await expect.poll(() => retakes(one), pollTimeout).toEqual({ ...counts, failed: 1 })
  expect(await claims(store)).toEqual([{ class_id: 'another', host_id: one.hostId }])
  watch.beforeTake = () => {}
  const two = await startOther()
  for (const host of [one, two]) {
    expect(await isRestored(host.server, 'app')).toBe(false)
    await hasLooked(host, builder)
    expect(await isRestored(host.server, 'app')).toBe(false)
  }
  const again = await one.restart()
  expect(await isRestored(again.server, 'app')).toBe(false)
  await becomesRestored(again)
  expect(await isRestored(two.server, 'app')).toBe(true)
})

test.each(['deleted', 'built'] as const)('a template that is %s meanwhile gets no old checkpoint', async (how) => {
  const { store, watch, builder, startOther } = await setUp()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  watch.beforeTake = async () => {
    watch.beforeTake = () => {}
    reach()
    await held
  }
  const one = await startOther()
  await isRestored(one.server, 'app')
  await reached
  if (how === 'deleted') expect((await builder.server.ask('DELETE', `${templates}/app`)).status).toBe(204)
  else await buildTemplate(builder.server, 'app', { ...application, dockerfile: 'FROM other' })
  const after = await classRows(store)
  expect(after).toHaveLength(how === 'deleted' ? 0 : 1)
  release()
  await expect.poll(() => retakes(one), pollTimeout).toEqual(counts)
  expect(await classRows(store)).toEqual(after)
  expect(await claims(store)).toEqual([])
  if (how === 'built') await becomesRestored(one)
})

test('a checkpoint that cannot be stored is taken when the store is back', async () => {
  const { store, artifacts, watch, startOther } = await setUp()
  const one = await startOther()
  watch.beforeTake = () => {
    artifacts.isAway = true
  }
  await isRestored(one.server, 'app')
  const isTold = () => one.server.logged.some(({ message }) => message.startsWith('a checkpoint cannot be taken now'))
  await expect.poll(isTold, pollTimeout).toBe(true)
  await expect.poll(() => claims(store), pollTimeout).toEqual([])
  expect(await retakes(one)).toEqual(counts)
  watch.beforeTake = () => {}
  artifacts.isAway = false
  await becomesRestored(one)
})
