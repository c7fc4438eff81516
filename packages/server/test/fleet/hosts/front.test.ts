import { expect, onTestFinished, test, vi } from 'vitest'
import { startHost } from '../../support/fleet.ts'
import { inside } from '../../support/inside.ts'
import { openTestStore } from '../../support/test-store.ts'

test('a front answers for runtimes of others, and runs none', async () => {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const worker = await startHost(store)
  const front = await startHost(store, { role: 'front' })
  const states = async () =>
    new Map((await store.db.selectFrom('hosts').selectAll().execute()).map((row) => [row.host_id, row.state]))
  await vi.waitUntil(async () => (await states()).get(front.hostId) === 'cordoned', { timeout: 20_000 })
  await vi.waitUntil(async () => (await states()).get(worker.hostId) === 'ready', { timeout: 20_000 })

  const id = await front.server.makeRuntime()
  expect(await worker.engine.inspect(id)).not.toBeNull()
  expect(await inside(front.server).run(id, 'echo', 'far')).toBe('far\n')
  expect((await front.server.ask('GET', '/readyz')).status).toBe(200)

  expect((await worker.server.ask('POST', `/v1/agents/host/${front.hostId}/uncordon`)).status).toBe(204)
  const beatOf = async () =>
    (await store.db.selectFrom('hosts').select('beat').where('host_id', '=', front.hostId).executeTakeFirstOrThrow())
      .beat
  const before = await beatOf()
  await vi.waitUntil(async () => (await beatOf()) > before + 2, { timeout: 20_000 })
  expect((await states()).get(front.hostId)).toBe('cordoned')
})

test('a front does no duty that needs an engine', async () => {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  await startHost(store, { role: 'front' })
  const held = async () => (await store.db.selectFrom('duties').selectAll().execute()).map(({ name }) => name)
  await vi.waitUntil(async () => (await held()).includes('judge'), { timeout: 20_000 })
  expect(await held()).not.toContain('base_templates')
})
