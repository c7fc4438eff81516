import { expect, test } from 'vitest'
import { oldResults } from '../../src/foundation/store/migrations/0013-old-results.ts'
import { migrations } from '../../src/foundation/store/migrations/migrations.ts'
import {
  application,
  buildTemplate,
  checkpointing,
  checkpointsOf,
  isRestored,
} from '../support/checkpointing-builder.ts'
import { startTestServer } from '../support/start-test-server.ts'
import { storedRows, tamper } from '../support/test-store.ts'

const pollTimeout = { timeout: 25_000, interval: 20 }
const template = '/v1/agents/template'

test('a start removes the checkpoints of templates without a start command, and their runtimes continue', async () => {
  const first = await startTestServer({ builder: checkpointing({ always: true }) })
  const { engine } = first
  await buildTemplate(first, 'plain', { on_restore: 'true' })
  await buildTemplate(first, 'app', application)
  const [before, app] = [
    (await first.ask('GET', `${template}/plain`)).json,
    (await first.ask('GET', `${template}/app`)).json,
  ]
  expect([before.has_checkpoint, app.has_checkpoint]).toEqual([true, true])
  const running = await first.makeRuntime({ template: 'plain' })
  expect((await engine.inspect(running))?.restored).toBe(true)
  const snapshot = (await first.ask('POST', `/v1/agents/runtime/${running}/snapshot`, { json: {} })).json
  expect(await checkpointsOf(engine)).toHaveLength(3)

  const next = await first.restart({ builder: checkpointing() })
  const plain = (await next.ask('GET', `${template}/plain`)).json
  const image = (await engine.ability('images')?.list())?.find(({ digest }) => digest === plain.image_digest)
  expect(plain).toMatchObject({
    ...before,
    has_checkpoint: false,
    size_bytes: image?.sizeBytes,
    updated_at: plain.updated_at,
  })
  expect((await next.ask('GET', `${template}/app`)).json).toEqual(app)
  expect([await isRestored(next, 'plain'), await isRestored(next, 'app')]).toEqual([false, true])
  // A boot by design is no fallback.
  expect((await next.ask('GET', '/readyz')).json.fallbacks).toEqual([])
  // The checkpoints of the application and of the snapshot stay.
  await expect.poll(async () => (await checkpointsOf(engine)).length, pollTimeout).toBe(2)
  expect(await storedRows(next.stateDir, 'SELECT checkpoint_id FROM build_cache')).toHaveLength(1)
  expect((await next.ask('GET', `/v1/agents/runtime/${running}`)).json.state).toBe('running')
  expect((await next.ask('POST', `/v1/agents/runtime/${running}/pause`)).status).toBe(200)
  expect((await next.ask('POST', `/v1/agents/runtime/${running}/resume`)).status).toBe(200)
  const copy = await next.makeRuntime({ snapshot: snapshot.snapshot_id })
  expect((await engine.inspect(copy))?.restored).toBe(true)
})

test('a start removes the checkpoint of a base template, also without a source of base templates', async () => {
  const first = await startTestServer()
  const { engine, stateDir } = first
  const id = await first.makeRuntime()
  await engine.ability('checkpoints')?.take(id, 'cpofanearlierversion', AbortSignal.timeout(5000))
  await first.close()
  await tamper(stateDir, `UPDATE templates SET checkpoint_id = 'cpofanearlierversion' WHERE name = 'base-small'`)
  const next = await first.restart({ baseSource: null })
  const row = async () => (await next.ask('GET', `${template}/base-small`)).json
  expect(await row()).toMatchObject({ state: 'ready', has_checkpoint: false })
  await expect.poll(async () => checkpointsOf(engine), pollTimeout).toEqual([])
  const { revision } = (await storedRows(stateDir, `SELECT revision FROM templates WHERE name = 'base-small'`))[0]
  const last = await next.restart()
  // Another start changes nothing.
  const [again] = await storedRows(last.stateDir, `SELECT revision FROM templates WHERE name = 'base-small'`)
  expect(again.revision).toBe(revision)
})

test('an upgrade removes the checkpoints of cached results that no application needs', async () => {
  const first = await startTestServer({ builder: checkpointing({ always: true }) })
  const { engine, stateDir } = first
  await buildTemplate(first, 'plain', { on_restore: 'true' })
  await buildTemplate(first, 'app', application)
  // The cache keeps the checkpoint of a template that is deleted.
  expect((await first.ask('DELETE', `${template}/plain`)).status).toBe(204)
  await first.close()
  const checkpoint = { cpu: 1, memoryMiB: 256, diskMiB: 1024, sizeBytes: 1 }
  const facts = JSON.stringify({ user: 'root', imageBytes: 1, checkpoint })
  await tamper(stateDir, `UPDATE build_cache SET facts_json = '${facts}'`)
  expect(migrations).toContain(oldResults)
  await tamper(stateDir, oldResults)
  expect(await checkpointsOf(engine)).toHaveLength(2)

  const next = await first.restart({ builder: checkpointing() })
  await expect.poll(async () => (await checkpointsOf(engine)).length, pollTimeout).toBe(1)
  expect(await storedRows(stateDir, 'SELECT checkpoint_id FROM build_cache')).toHaveLength(1)
  expect(await isRestored(next, 'app')).toBe(true)
})
