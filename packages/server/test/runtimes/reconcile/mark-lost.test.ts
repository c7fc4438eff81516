import { expect, test } from 'vitest'
import { markLost } from '../../../src/runtimes/reconcile/mark-lost.ts'
import type { Runtimes } from '../../../src/runtimes/runtimes.ts'
import { TestArtifacts } from '../../support/artifact-ways.ts'
import { application, buildTemplate, checkpointing } from '../../support/checkpointing-builder.ts'
import { startHost } from '../../support/fleet.ts'
import { openTestStore } from '../../support/test-store.ts'

/** A host with a template and two snapshots, and the states of these. */
async function furnished() {
  const store = await openTestStore()
  const { server } = await startHost(store, { artifactWays: new TestArtifacts(), builder: checkpointing() })
  await buildTemplate(server, 'app', application)
  const runtimeId = await server.makeRuntime()
  for (const kind of ['memory', 'filesystem'])
    await server.ask('POST', `/v1/agents/runtime/${runtimeId}/snapshot`, { json: { name: kind, kind } })
  const templates = () => store.db.selectFrom('templates').selectAll().where('name', '=', 'app').execute()
  const snapshots = () => store.db.selectFrom('snapshots').selectAll().execute()
  const states = async () => {
    const rows = [...(await templates()), ...(await snapshots())]
    return Object.fromEntries(rows.map((row) => [row.name, [row.state, row.state_reason_json]]))
  }
  const service = { store, now: Date.now, agents: { of: () => null } } as unknown as Runtimes
  const [template] = await templates()
  const memory = (await snapshots()).find(({ name }) => name === 'memory')
  return { store, states, template, memory, mark: (...ids: string[]) => markLost(service, new Set(ids)) }
}

const whole = { app: ['ready', null], memory: ['ready', null], filesystem: ['ready', null] }
const lacks = ['failed', expect.stringContaining('"code":"files_missing"')]

test('snapshots and templates without their objects fail, and are ready when these are stored again', async () => {
  const { store, states, template, memory, mark } = await furnished()
  const [image, checkpoint] = [template?.image_digest ?? '', memory?.checkpoint_id ?? '']
  expect(await states()).toEqual(whole)
  await mark()
  expect(await states()).toEqual(whole)
  const lost = store.db.updateTable('artifacts').where('artifact_id', 'in', [image, checkpoint])
  await lost.set({ state: 'local', host_id: null }).execute()
  await mark(image, checkpoint)
  expect(await states()).toEqual({ ...whole, app: lacks, memory: lacks })
  await mark()
  expect(await states()).toEqual({ ...whole, app: lacks, memory: lacks })
  await lost.set({ state: 'stored' }).execute()
  await mark()
  expect(await states()).toEqual(whole)
})

test('a template without its checkpoint stays ready, and its runtimes boot', async () => {
  const { store, states, template, mark } = await furnished()
  const rows = () =>
    store.db
      .selectFrom('template_checkpoints')
      .select('checkpoint_id')
      .where('template_id', '=', template?.template_id ?? '')
      .execute()
  expect(await rows()).toEqual([{ checkpoint_id: template?.checkpoint_id }])
  await mark(template?.checkpoint_id ?? '')
  expect(await rows()).toEqual([])
  expect(await states()).toEqual(whole)
})
