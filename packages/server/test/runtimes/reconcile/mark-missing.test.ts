import type { Engine } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { ended, FakeBuilder } from '../../support/fake-builder.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { tamper } from '../../support/test-store.ts'

const snapshots = '/v1/agents/snapshot'
const weekMs = 8 * 24 * 3600 * 1000

/** A server with a snapshot of each kind and a template that was built. */
async function furnished(): Promise<TestServer> {
  const server = await startTestServer({ builder: new FakeBuilder() })
  const id = await server.makeRuntime()
  for (const kind of ['memory', 'filesystem'])
    await server.ask('POST', `/v1/agents/runtime/${id}/snapshot`, { json: { kind, name: kind } })
  const dockerfile = 'FROM scratch\nLABEL a=b'
  const build = (await server.ask('POST', '/v1/agents/template/build', { json: { name: 'mine', dockerfile } })).json
  await ended(server, build.build_id)
  return server
}

async function statesOf({ ask }: TestServer) {
  const kept = (await ask('GET', snapshots)).json.data as { name: string; state: string; state_reason: unknown }[]
  const templates = (await ask('GET', '/v1/agents/template')).json.data as typeof kept
  return Object.fromEntries(
    [...kept, ...templates.filter(({ name }) => name === 'mine')].map(({ name, state, state_reason }) => [
      name,
      [state, state_reason],
    ]),
  )
}

test('an image that lacks a file is missing, until it is complete again', async () => {
  const server = await furnished()
  const engine = new FakeEngine()
  const found = server.engine.ability.bind(server.engine)
  const damaged: Engine = Object.assign(engine, {
    ability: ((name) => {
      const images = name === 'images' ? found('images') : null
      return images === null ? found(name) : { ...images, has: async () => false }
    }) as Engine['ability'],
  })
  const started = await server.restart({ engine: damaged as FakeEngine })
  expect(await statesOf(started)).toMatchObject({
    memory: ['failed', {}],
    filesystem: ['failed', {}],
    mine: ['failed', {}],
  })
  const again = await started.restart({ engine: server.engine })
  expect(await statesOf(again)).toMatchObject({ filesystem: ['ready', null], mine: ['ready', null] })
  await again.close()
})

test('rows without files fail at the start with the file name, and recover when the files return', async () => {
  const server = await furnished()
  const whole = { memory: ['ready', null], filesystem: ['ready', null], mine: ['ready', null] }
  expect(await statesOf(server)).toEqual(whole)
  const bare = await server.restart({ engine: new FakeEngine() })
  const lacks = (file: RegExp) => [
    'failed',
    { code: 'files_missing', message: expect.stringMatching(new RegExp(`^The file ${file.source} is not in`)) },
  ]
  expect(await statesOf(bare)).toEqual({
    memory: lacks(/checkpoints\/cp[a-z0-9]+/),
    filesystem: lacks(/images\/[0-9a-f]{64}\.erofs/),
    mine: lacks(/images\/[0-9a-f]{64}\.erofs/),
  })
  const refused = await bare.ask('POST', '/v1/agents/runtime', {
    json: { snapshot: (await idOf(bare, 'memory')) ?? '' },
  })
  expect([refused.status, refused.json.error.message]).toEqual([409, expect.stringContaining('checkpoints/')])
  expect(bare.logged.map(({ message }) => message)).toContain(
    'files that the store names are not in the state directory',
  )
  const { json } = await bare.ask('GET', '/v1/agents/event?type=snapshot.failed')
  expect(json.data).toHaveLength(2)
  // A week later the rows are there, and not those of snapshots that were never written.
  await bare.makeRuntime()
  const [id] = (await bare.ask('GET', '/v1/agents/runtime')).json.data.map(
    ({ runtime_id }: { runtime_id: string }) => runtime_id,
  )
  expect((await bare.ask('POST', `/v1/agents/runtime/${id}/snapshot`, { json: { name: 'never' } })).status).toBe(201)
  await bare.close()
  const never = `state = 'failed', state_reason_json = '{"code":"interrupted","message":""}'`
  await tamper(bare.stateDir, `UPDATE snapshots SET ${never} WHERE name = 'never'`)
  await tamper(bare.stateDir, `UPDATE snapshots SET created_at = created_at - ${weekMs}`)
  const later = await bare.restart({ engine: new FakeEngine() })
  const names = async () => Object.keys(await statesOf(later)).toSorted()
  await expect.poll(names, { timeout: 30_000 }).toEqual(['filesystem', 'memory', 'mine'])
  await later.close()
  expect(await statesOf(await later.restart({ engine: server.engine }))).toEqual(whole)
})

async function idOf({ ask }: TestServer, name: string): Promise<string | undefined> {
  const { data } = (await ask('GET', snapshots)).json
  return data.find((row: { name: string }) => row.name === name)?.snapshot_id
}

test('a directory without files refuses a store with files elsewhere, until it is adopted', async () => {
  const server = await furnished()
  await server.close()
  await tamper(server.stateDir, `UPDATE store_facts SET value = 'aaaaaaaaaaaaaaaaaaaa'`)
  await expect(server.restart({ engine: new FakeEngine() })).rejects.toThrow(
    /lists 2 snapshots, 1 templates and 0 paused runtimes, and .* has none of their files/,
  )
  const taken = await server.restart({ engine: new FakeEngine(), config: { adoptStore: true } as never })
  expect((await statesOf(taken)).memory?.[0]).toBe('failed')
  await taken.close()
  await (await taken.restart({ engine: new FakeEngine() })).close()
})
