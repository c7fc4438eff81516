import { FakeEngine } from '@holt/engine-testkit/fake'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { localArtifacts } from '../../../src/artifacts/artifacts.ts'
import { openStore } from '../../../src/foundation/store/open-store.ts'
import { TestArtifacts } from '../../support/artifact-ways.ts'
import { application, buildTemplate, checkpointing, isRestored } from '../../support/checkpointing-builder.ts'
import { type HostOptions, startHost, type TestHost } from '../../support/fleet.ts'
import { inside } from '../../support/inside.ts'
import { hasPostgres, startCluster } from '../../support/postgres-cluster.ts'
import { openTestStore } from '../../support/test-store.ts'

const snapshotsOf = (runtimeId: string) => `/v1/agents/runtime/${runtimeId}/snapshot`

/** Starts the hosts of a fleet one after another, with one object store between them. */
async function startFleet(database: 'sqlite' | 'postgres') {
  const artifacts = new TestArtifacts()
  const shared = await sharedStore(database)
  const start = (options: HostOptions = {}): Promise<TestHost> =>
    startHost(shared, { artifactWays: artifacts, places: 'own', builder: checkpointing(), ...options })
  return { artifacts, start }
}

async function sharedStore(database: 'sqlite' | 'postgres') {
  if (database === 'sqlite') return openTestStore()
  const cluster = await startCluster()
  onTestFinished(() => cluster[Symbol.asyncDispose]())
  const store = { url: cluster.url('postgres') }
  const open = await openStore({ type: 'postgres', ...store, fleet: true }, () => undefined)
  onTestFinished(() => open.close())
  return store
}

const databases = [{ database: 'sqlite' as const }, ...(hasPostgres() ? [{ database: 'postgres' as const }] : [])]

describe.each(databases)('artifacts of a fleet over $database', ({ database }) => {
  test('a template built at one host runs at the others after that host is gone', async () => {
    const { start } = await startFleet(database)
    const one = await start()
    await buildTemplate(one.server, 'app', {})
    await one.server.close()
    for (const host of [await start(), await start()]) {
      const id = await host.server.makeRuntime({ template: 'app' })
      expect(await host.engine.inspect(id)).not.toBeNull()
    }
  })

  test('a snapshot restores at another host with the same bytes', async () => {
    const { start } = await startFleet(database)
    const one = await start()
    const id = await one.server.makeRuntime()
    await inside(one.server).write(id, '/workspace/a', 'of the first host')
    for (const kind of ['memory', 'filesystem']) {
      const { status, text } = await one.server.ask('POST', snapshotsOf(id), { json: { name: kind, kind } })
      expect(status, text).toBe(201)
    }
    await one.server.close()
    const two = await start()
    for (const snapshot of ['memory', 'filesystem']) {
      const copy = await two.server.makeRuntime({ snapshot })
      expect(await inside(two.server).read(copy, '/workspace/a')).toBe('of the first host')
    }
  })

  test('one host makes the base image, and the others fetch it', async () => {
    const { artifacts, start } = await startFleet(database)
    await start()
    expect(artifacts.kept.size).toBe(1)
    const two = await start()
    await two.server.makeRuntime()
    expect(artifacts.fetched).toBe(1)
  })
})

test('a machine that joins stores the templates that it has', async () => {
  const shared = await openTestStore()
  const builder = checkpointing()
  const before = await startHost(shared, { artifacts: localArtifacts, builder })
  await buildTemplate(before.server, 'app', application)
  await before.server.close()
  const artifacts = new TestArtifacts()
  await startHost(shared, { artifactWays: artifacts, builder, engine: before.engine })
  await vi.waitUntil(() => [...artifacts.kept.keys()].some((id) => id.startsWith('cp')), { timeout: 20_000 })
  const two = await startHost(shared, { artifactWays: artifacts, places: 'own', builder })
  await vi.waitUntil(async () => isRestored(two.server, 'app'), { timeout: 20_000, interval: 50 })
})

test('a memory snapshot is restored by a host of its class', async () => {
  const { start } = await startFleet('sqlite')
  const one = await start()
  const id = await one.server.makeRuntime()
  expect((await one.server.ask('POST', snapshotsOf(id), { json: { name: 's', kind: 'memory' } })).status).toBe(201)
  const other = await start({ engine: new FakeEngine({ classId: 'another' }) })
  const copy = await other.server.makeRuntime({ snapshot: 's' })
  expect(await one.engine.inspect(copy)).not.toBeNull()
})

test('nothing is made of an artifact with one wrong bit', async () => {
  const { artifacts, start } = await startFleet('sqlite')
  const one = await start()
  const id = await one.server.makeRuntime()
  const { json } = await one.server.ask('POST', snapshotsOf(id), { json: { kind: 'memory' } })
  const checkpoint = [...artifacts.kept.keys()].find((each) => each.startsWith('cp'))
  artifacts.corrupt(checkpoint ?? '')
  const two = await start()
  const answer = await two.server.ask('POST', '/v1/agents/runtime', { json: { snapshot: json.snapshot_id } })
  expect(answer.json.error.code).toBe('snapshot_damaged')
  expect((await two.server.ask('GET', '/v1/agents/runtime')).json.data).toHaveLength(1)
})

test.each(['isAway', 'isFull'] as const)('creates go on while the store %s, and snapshots are 503', async (fault) => {
  const { artifacts, start } = await startFleet('sqlite')
  const one = await start()
  const id = await one.server.makeRuntime()
  artifacts[fault] = true
  await one.server.makeRuntime()
  const answer = await one.server.ask('POST', snapshotsOf(id), { json: { kind: 'memory' } })
  expect(answer.status, answer.text).toBe(503)
  expect(answer.headers.get('retry-after')).not.toBeNull()
  artifacts[fault] = false
  expect((await one.server.ask('POST', snapshotsOf(id), { json: { kind: 'memory' } })).status).toBe(201)
})

test('a create waits for no image while the store is away', async () => {
  const { artifacts, start } = await startFleet('sqlite')
  await start()
  const two = await start()
  artifacts.isAway = true
  const answer = await two.server.ask('POST', '/v1/agents/runtime', { json: {} })
  expect(answer.status, answer.text).toBe(503)
  expect(answer.json.error.code).toBe('unavailable')
  expect(answer.headers.get('retry-after')).not.toBeNull()
  artifacts.isAway = false
  await two.server.makeRuntime()
})
