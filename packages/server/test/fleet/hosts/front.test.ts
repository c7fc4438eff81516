import { expect, onTestFinished, test, vi } from 'vitest'
import { startHost, type TestHost } from '../../support/fleet.ts'
import { inside } from '../../support/inside.ts'
import { openTestStore } from '../../support/test-store.ts'

const bound = { timeout: 20_000 }

test('a front answers for runtimes of others, and runs none', async () => {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const worker = await startHost(store)
  const front = await startHost(store, { role: 'front' })
  const states = async () =>
    new Map((await store.db.selectFrom('hosts').selectAll().execute()).map((row) => [row.host_id, row.state]))
  await vi.waitUntil(async () => (await states()).get(front.hostId) === 'cordoned', bound)
  await vi.waitUntil(async () => (await states()).get(worker.hostId) === 'ready', bound)

  // The front sees the other host with its next read.
  const id = await vi.waitFor(() => front.server.makeRuntime(), bound)
  expect(await worker.engine.inspect(id)).not.toBeNull()
  expect(await inside(front.server).run(id, 'echo', 'far')).toBe('far\n')
  expect((await front.server.ask('GET', '/readyz')).status).toBe(200)

  expect((await worker.server.ask('POST', `/v1/agents/host/${front.hostId}/uncordon`)).status).toBe(204)
  const beatOf = async () =>
    (await store.db.selectFrom('hosts').select('beat').where('host_id', '=', front.hostId).executeTakeFirstOrThrow())
      .beat
  const before = await beatOf()
  await vi.waitUntil(async () => (await beatOf()) > before + 2, bound)
  expect((await states()).get(front.hostId)).toBe('cordoned')
})

test('a front is ready before there is a host that makes templates', async () => {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const front = await startHost(store, { role: 'front' })
  await vi.waitFor(async () => expect((await front.server.ask('GET', '/readyz')).status).toBe(200), bound)
  expect(await store.db.selectFrom('templates').selectAll().execute()).toEqual([])
})

test('a front does no duty that needs an engine', async () => {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  await startHost(store, { role: 'front' })
  const held = async () => (await store.db.selectFrom('duties').selectAll().execute()).map(({ name }) => name)
  await vi.waitUntil(async () => (await held()).includes('judge'), bound)
  expect(await held()).not.toContain('base_templates')
})

test('a front that stops leaves the fleet, and may come back', async () => {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const worker = await startHost(store)
  const fronts = await Promise.all([1, 2, 3].map(() => startHost(store, { role: 'front' })))
  for (const { server } of fronts) await server.close()
  const rowOf = (hostId: string) =>
    store.db.selectFrom('hosts').selectAll().where('host_id', '=', hostId).executeTakeFirst()
  for (const { hostId } of fronts) expect(await rowOf(hostId)).toMatchObject({ state: 'gone', wanted: 'ready' })
  const [first] = fronts as [TestHost]
  const again = await first.restart()
  await vi.waitUntil(async () => (await rowOf(first.hostId))?.state === 'cordoned', bound)
  expect((await again.server.ask('GET', '/readyz')).status).toBe(200)
  expect((await rowOf(worker.hostId))?.state).toBe('ready')
})

test('a day after a front has left, its row is removed and its unused key is revoked', async () => {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const used = await startHost(store, { role: 'front' })
  const unused = await startHost(store, { role: 'front' })
  await used.server.ask('GET', '/v1/agents/host')
  const isRevoked = async ({ hostId }: TestHost) => {
    const key = store.db.selectFrom('keys').selectAll().where('name', '=', `admin of ${hostId}`)
    return (await key.executeTakeFirstOrThrow()).revoked_at !== null
  }
  await vi.waitUntil(async () => (await lastUse(used)) !== null, bound)
  await used.server.close()
  await unused.server.close()
  const hosts = async () => (await store.db.selectFrom('hosts').selectAll().execute()).map(({ host_id }) => host_id)
  const worker = await startHost(store)
  await vi.waitUntil(async () => (await store.db.selectFrom('duties').selectAll().execute()).length > 0, bound)
  expect(await hosts()).toHaveLength(3)
  await store.db
    .updateTable('hosts')
    .set({ seen_at: Date.now() - 25 * 60 * 60 * 1000 })
    .where('state', '=', 'gone')
    .execute()
  await expect.poll(hosts, bound).toEqual([worker.hostId])
  expect([await isRevoked(used), await isRevoked(unused)]).toEqual([false, true])

  async function lastUse({ hostId }: TestHost) {
    const key = store.db.selectFrom('keys').selectAll().where('name', '=', `admin of ${hostId}`)
    return (await key.executeTakeFirstOrThrow()).last_used_at
  }
})
