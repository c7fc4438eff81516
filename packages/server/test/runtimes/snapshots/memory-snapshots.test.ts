import { EngineError } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { inside } from '../../support/inside.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { steeredEngine } from '../../support/steered-engine.ts'
import { tamper } from '../../support/test-store.ts'

const runtimes = '/v1/agents/runtime'
const snapshots = '/v1/agents/snapshot'

const snapshot = ({ ask }: Pick<TestServer, 'ask'>, id: string, json: object = {}) =>
  ask('POST', `${runtimes}/${id}/snapshot`, { json })

const checkpointIds = async ({ engine }: TestServer) =>
  (await engine.ability('checkpoints')?.list())?.map(({ checkpointId }) => checkpointId) ?? []

test('a runtime of a snapshot begins in the state of the source, and both continue independently', async () => {
  const server = await startTestServer()
  const { makeRuntime, engine, ask } = server
  const { write, read, start, running } = inside(server)
  const source = await makeRuntime({ name: 'source', env: { MODE: 'fast' } })
  await write(source, '/workspace/a', 'then')
  const command = await start(source, 'sleep')
  const { status, json } = await snapshot(server, source, { name: 'one' })
  expect(status).toBe(201)
  expect(json).toMatchObject({
    name: 'one',
    kind: 'memory',
    state: 'ready',
    state_reason: null,
    runtime_id: source,
    template: { name: 'base-small' },
    isolation: 'gvisor',
    cpu: 1,
    memory_mib: 1024,
    disk_mib: 4096,
  })
  expect(json.size_bytes).toBeGreaterThan(0)
  await write(source, '/workspace/a', 'later')
  const id = await makeRuntime({ snapshot: 'one', env: { OWN: 'yes' } })
  expect([await read(id, '/workspace/a'), await running(id)]).toEqual(['then', [command]])
  expect([await read(source, '/workspace/a'), await running(source)]).toEqual(['later', [command]])
  expect((await engine.inspect(id))?.restored).toBe(true)
  expect(engine.guest(id)?.identity).toMatchObject({
    runtime_id: id,
    hostname: id,
    env: { FROM_TEMPLATE: 'yes', MODE: 'fast', OWN: 'yes' },
  })
  expect((await ask('GET', `${runtimes}/${id}`)).json).toMatchObject({
    snapshot_id: json.snapshot_id,
    parent_id: null,
    env: { OWN: 'yes' },
    template: { name: 'base-small' },
    isolation: 'gvisor',
  })
})

test('it keeps its size and class; the disk can grow', async () => {
  const server = await startTestServer()
  const { ask, makeRuntime, engine } = server
  await snapshot(server, await makeRuntime(), { name: 'one' })
  const refused = await ask('POST', runtimes, { json: { snapshot: 'one', cpu: 2, memory: 2, isolation: 'container' } })
  expect([refused.status, refused.json.error.code]).toEqual([400, 'unsupported_setting'])
  expect(refused.json.error.details.issues.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
    '/cpu',
    '/memory',
    '/isolation',
  ])
  const small = await ask('POST', runtimes, { json: { snapshot: 'one', disk: 1 } })
  expect(small.json.error).toMatchObject({ code: 'disk_too_small', details: { required_mib: 4096 } })
  const id = await makeRuntime({ snapshot: 'one', cpu: 1, memory: 1, isolation: 'gvisor', disk: 8 })
  expect((await engine.inspect(id))?.spec).toMatchObject({ diskMiB: 8192, restoreOnly: true })
})

test('it keeps its class if the service has another default', async () => {
  const server = await startTestServer()
  await snapshot(server, await server.makeRuntime(), { name: 'one' })
  const { config } = { config: { isolation: 'container' } as const }
  const again = await server.restart({ config: config as never })
  const id = await again.makeRuntime({ snapshot: 'one' })
  expect((await again.engine.inspect(id))?.spec.isolation).toBe('gvisor')
})

test.each(['incompatible', 'damaged'] as const)(
  'a snapshot that is %s creates no runtime, and says so',
  async (problem) => {
    const server = await startTestServer()
    const { ask, engine, makeRuntime } = server
    const { snapshot_id } = (await snapshot(server, await makeRuntime(), { name: 'one' })).json
    engine.spoil(`cp${snapshot_id.slice(2)}`, problem)
    const { status, json } = await ask('POST', runtimes, { json: { snapshot: 'one' } })
    expect([status, json.error.code]).toEqual([422, `snapshot_${problem}`])
    const [failed] = (await ask('GET', `${runtimes}?state=failed`)).json.data
    expect(failed.state_reason.code).toBe(`snapshot_${problem}`)
  },
)

test('a class without checkpoints and a secret inside are refused for memory, and not for files', async () => {
  const server = await startTestServer()
  const { ask, makeRuntime } = server
  const container = await makeRuntime({ isolation: 'container' })
  expect((await snapshot(server, container, { kind: 'memory' })).json.error.code).toBe('not_supported_here')
  expect((await snapshot(server, container)).json).toMatchObject({ kind: 'filesystem', state: 'ready' })
  const secret = { name: 'deploy', value: 'hunter22', env: true }
  expect((await ask('POST', '/v1/agents/secret', { json: secret })).status).toBe(201)
  const holder = await makeRuntime({ secrets: ['deploy'] })
  expect((await snapshot(server, holder)).json.error.code).toBe('conflict')
  expect((await snapshot(server, holder, { kind: 'filesystem' })).json.state).toBe('ready')
  expect((await ask('GET', `${snapshots}?kind=memory`)).json.data).toEqual([])
})

test('a snapshot shows whether it has a record of the files', async () => {
  const server = await startTestServer()
  const { ask, makeRuntime, stateDir } = server
  const id = await makeRuntime()
  const taken = [{ record_files: true }, {}, { kind: 'filesystem' }]
  const made = []
  for (const json of taken) made.push((await snapshot(server, id, json)).json)
  expect(made.map(({ record_files }) => record_files)).toEqual([true, false, null])
  const listed = (await ask('GET', snapshots)).json.data
  expect(listed.map((one: { record_files: unknown }) => one.record_files)).toEqual([null, false, true])
  // Of a snapshot from before, nobody knows.
  await tamper(stateDir, 'UPDATE snapshots SET record_files = NULL')
  expect((await ask('GET', `${snapshots}/${made[0].snapshot_id}`)).json.record_files).toBe(null)
})

test('a record of files is refused for a snapshot that has the files', async () => {
  const server = await startTestServer()
  const { ask, makeRuntime } = server
  const [gvisor, container] = [await makeRuntime(), await makeRuntime({ isolation: 'container' })]
  for (const [id, json] of [
    [gvisor, { kind: 'filesystem', record_files: true }],
    [container, { record_files: true }],
  ] as const) {
    const { error } = (await snapshot(server, id, json)).json
    expect(error).toMatchObject({ code: 'unsupported_setting', hint: expect.stringContaining('record_files') })
  }
  expect((await snapshot(server, gvisor, { kind: 'filesystem', record_files: false })).json.state).toBe('ready')
  expect((await ask('GET', snapshots)).json.data).toHaveLength(1)
})

test('a failed snapshot has the reason, leaves nothing, and frees its name; its runtime continues', async () => {
  let fails = false
  const engine = new FakeEngine({
    before: (verb) => {
      if (verb === 'take' && fails) throw new EngineError('no_space', 'no room')
    },
  })
  const server = await startTestServer({ engine })
  const { ask, makeRuntime } = server
  const id = await makeRuntime()
  const before = await checkpointIds(server)
  fails = true
  const { status, json } = await snapshot(server, id, { name: 'one' })
  expect([status, json.error.code]).toEqual([507, 'disk_full'])
  const [row] = (await ask('GET', `${snapshots}?name=one`)).json.data
  expect(row).toMatchObject({ state: 'failed', state_reason: { code: 'disk_full' }, size_bytes: null })
  expect((await ask('GET', `${snapshots}/one`)).status).toBe(404)
  expect((await ask('POST', runtimes, { json: { snapshot: row.snapshot_id } })).json.error.code).toBe('conflict')
  expect((await ask('GET', `${runtimes}/${id}`)).json.state).toBe('running')
  expect(await inside(server).run(id, 'echo', 'on')).toBe('on\n')
  expect(await checkpointIds(server)).toEqual(before)
  fails = false
  expect((await snapshot(server, id, { name: 'one' })).status).toBe(201)
})

test('a delete of the runtime during its snapshot answers that it is deleted', async () => {
  const { engine, hold } = steeredEngine()
  const server = await startTestServer({ engine })
  const id = await server.makeRuntime()
  const { reached, release } = hold('take')
  const answer = snapshot(server, id)
  await reached
  await server.ask('DELETE', `${runtimes}/${id}`)
  release()
  const { status, json } = await answer
  expect([status, json.error.code]).toEqual([410, 'runtime_terminated'])
})

test('a delete of a snapshot in progress leaves nothing', async () => {
  const { engine, hold } = steeredEngine()
  const server = await startTestServer({ engine })
  const id = await server.makeRuntime()
  const before = await checkpointIds(server)
  const { reached, release } = hold('take')
  const answer = snapshot(server, id, { name: 'one' })
  await reached
  const writing = await server.ask('POST', runtimes, { json: { snapshot: 'one' } })
  expect([writing.status, writing.json.error.details.state]).toEqual([503, 'writing'])
  expect((await server.ask('DELETE', `${snapshots}/one`)).status).toBe(204)
  release()
  expect((await answer).json.error.code).toBe('conflict')
  await expect.poll(() => checkpointIds(server)).toEqual(before)
  expect((await server.ask('GET', `${runtimes}/${id}`)).json.state).toBe('running')
})

test('a paused runtime is not resumed for a snapshot', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  expect((await server.ask('POST', `${runtimes}/${id}/pause`)).status).toBe(200)
  for (const kind of ['memory', 'filesystem']) {
    const { status, json } = await snapshot(server, id, { kind })
    expect([status, json.error.code]).toEqual([409, 'runtime_paused'])
  }
  expect((await server.ask('GET', `${runtimes}/${id}`)).json.state).toBe('paused')
})
