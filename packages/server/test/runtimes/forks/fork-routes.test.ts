import { EngineError } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { inside } from '../../support/inside.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { tamper } from '../../support/test-store.ts'

const runtimes = '/v1/agents/runtime'

const fork = ({ ask }: Pick<TestServer, 'ask'>, id: string, json: object = {}, headers = {}) =>
  ask('POST', `${runtimes}/${id}/fork`, { json, headers })

const checkpointIds = async ({ engine }: TestServer) =>
  (await engine.ability('checkpoints')?.list())?.map(({ checkpointId }) => checkpointId) ?? []

interface Child {
  readonly runtime: { readonly runtime_id: string } | null
  readonly error: { readonly code: string; readonly hint: string } | null
}

const idsOf = (json: { data: readonly Child[] }) => json.data.flatMap(({ runtime }) => runtime?.runtime_id ?? [])

test('children begin in the state of the runtime with new ids, and the runtime continues', async () => {
  const server = await startTestServer()
  const { engine, makeRuntime, ask } = server
  const { write, read, start, running } = inside(server)
  const source = await makeRuntime({ name: 'source', env: { MODE: 'fast' }, metadata: { team: 'red' }, memory: 2 })
  await write(source, '/workspace/a', 'then')
  const command = await start(source, 'sleep')
  const before = await checkpointIds(server)
  const { status, json } = await fork(server, source, { count: 12 })
  expect(status).toBe(201)
  const ids = idsOf(json)
  expect(new Set([source, ...ids]).size).toBe(13)
  await write(source, '/workspace/a', 'later')
  for (const [index, id] of ids.entries()) {
    expect([await read(id, '/workspace/a'), await running(id)]).toEqual(['then', [command]])
    expect(engine.guest(id)?.identity).toMatchObject({ runtime_id: id, hostname: id, env: { MODE: 'fast' } })
    expect(json.data[index]).toMatchObject({
      error: null,
      runtime: {
        state: 'running',
        name: null,
        parent_id: source,
        snapshot_id: null,
        metadata: { team: 'red' },
        env: { MODE: 'fast' },
        memory_mib: 2048,
      },
    })
  }
  expect((await ask('GET', `${runtimes}/${source}`)).json.state).toBe('running')
  expect(await running(source)).toEqual([command])
  expect(await checkpointIds(server)).toEqual(before)
})

test('given settings apply to the children, and others come from the parent', async () => {
  const server = await startTestServer()
  const source = await server.makeRuntime({ timeout_secs: 500, metadata: { team: 'red' }, auto_resume: false })
  const [own] = (await fork(server, source, { metadata: { try: '1' }, timeout_secs: null })).json.data
  expect(own.runtime).toMatchObject({
    metadata: { try: '1' },
    timeout_secs: null,
    expires_at: null,
    auto_resume: false,
  })
  const [like] = (await fork(server, source)).json.data
  expect(like.runtime).toMatchObject({ metadata: { team: 'red' }, timeout_secs: 500 })
  expect(like.runtime.expires_at).not.toBe(null)
})

test('children have the policy, placeholders, authority and addresses of their parent', async () => {
  const server = await startTestServer()
  const { ask, makeRuntime, gateway, engine } = server
  await ask('POST', '/v1/agents/secret', { json: { name: 'api', value: 'hunter22', hosts: ['api.example.com'] } })
  const named = { name: 'web', allow: [{ host: 'api.example.com' }] }
  expect((await ask('POST', '/v1/agents/network-policy', { json: named })).status).toBe(201)
  const source = await makeRuntime({ network_policy: 'web', secrets: ['api'] })
  const of = (id: string) => gateway.attached.find(({ options }) => options.id === id)?.options
  of(source)?.addresses?.onAssigned({ address: '198.18.1.7', name: 'api.example.com' })
  const [child] = idsOf((await fork(server, source)).json)
  if (child === undefined) throw new Error('there is no child')
  expect(of(child)?.ca).toEqual(of(source)?.ca)
  expect(of(child)?.addresses?.known).toEqual([{ address: '198.18.1.7', name: 'api.example.com' }])
  expect(of(child)?.secrets.map(({ placeholder }) => placeholder)).toEqual(
    of(source)?.secrets.map(({ placeholder }) => placeholder),
  )
  expect(engine.guest(child)?.identity?.env).toEqual(engine.guest(source)?.identity?.env)
  expect((await ask('GET', `${runtimes}/${child}`)).json).toMatchObject({
    secrets: ['api'],
    network_policy: { type: 'stored', name: 'web' },
  })
})

test('a child that fails has the reason, and does not affect the others', async () => {
  let made = 0
  let fails = false
  const engine = new FakeEngine({
    before: (verb) => {
      if (verb === 'ensure' && fails && ++made === 2) throw new EngineError('no_space', 'no room')
    },
  })
  const server = await startTestServer({ engine })
  const source = await server.makeRuntime()
  fails = true
  const { status, json } = await fork(server, source, { count: 3 })
  expect(status).toBe(201)
  expect(idsOf(json)).toHaveLength(2)
  const [failed] = json.data.filter(({ error }: Child) => error !== null)
  expect(failed).toMatchObject({ runtime: null, error: { code: 'disk_full', hint: expect.stringMatching(/./) } })
})

test('each child passes admission like any runtime', async () => {
  let looks = 0
  const server = await startTestServer({ freeMemoryMiB: async () => (++looks > 5 ? 100 : null) })
  const source = await server.makeRuntime()
  const { json } = await fork(server, source, { count: 8 })
  const codes = json.data.map(({ error }: Child) => error?.code ?? null)
  expect(codes).toContain(null)
  expect(codes).toContain('capacity_exhausted')
})

test('a fork whose checkpoint fails is refused as a whole, and the runtime continues', async () => {
  let fails = false
  const engine = new FakeEngine({
    before: (verb) => {
      if (verb === 'take' && fails) throw new EngineError('no_space', 'no room')
    },
  })
  const server = await startTestServer({ engine })
  const source = await server.makeRuntime()
  fails = true
  const { status, json } = await fork(server, source)
  expect([status, json.error.code]).toEqual([507, 'disk_full'])
  expect(await inside(server).run(source, 'echo', 'on')).toBe('on\n')
  expect((await server.ask('GET', runtimes)).json.data).toHaveLength(1)
})

test.each([
  [{ isolation: 'container' }, 501, 'not_supported_here'],
  [{ secrets: ['deploy'] }, 409, 'conflict'],
])('%o cannot be forked', async (settings, status, code) => {
  const server = await startTestServer()
  await server.ask('POST', '/v1/agents/secret', { json: { name: 'deploy', value: 'hunter22', env: true } })
  const source = await server.makeRuntime(settings)
  const answer = await fork(server, source)
  expect([answer.status, answer.json.error.code]).toEqual([status, code])
})

test('a paused runtime is not resumed for a fork', async () => {
  const server = await startTestServer()
  const source = await server.makeRuntime()
  await server.ask('POST', `${runtimes}/${source}/pause`)
  expect((await fork(server, source)).json.error.code).toBe('runtime_paused')
  expect((await server.ask('GET', `${runtimes}/${source}`)).json.state).toBe('paused')
})

test('a repeated fork makes no more children, even if the first answer was lost in a crash', async () => {
  const server = await startTestServer()
  const source = await server.makeRuntime()
  const headers = { 'idempotency-key': 'k1' }
  const first = await fork(server, source, { count: 3 }, headers)
  expect((await fork(server, source, { count: 3 }, headers)).json).toEqual(first.json)
  await server.close()
  await tamper(server.stateDir, 'UPDATE idempotency SET status = NULL, body = NULL')
  await tamper(
    server.stateDir,
    `UPDATE runtimes SET state = 'starting', started_at = NULL WHERE runtime_id = '${idsOf(first.json)[1]}'`,
  )
  const again = await server.restart()
  const repeated = (await fork(again, source, { count: 3 }, headers)).json
  expect(repeated.data.map(({ runtime }: Child) => runtime?.runtime_id ?? null)).toEqual([
    idsOf(first.json)[0],
    null,
    idsOf(first.json)[2],
  ])
  expect(repeated.data[1].error.code).toBe('unavailable')
})

test('children survive their parent, and can be forked and snapshotted', async () => {
  const server = await startTestServer()
  const { write, read } = inside(server)
  const source = await server.makeRuntime()
  await write(source, '/workspace/a', 'then')
  const [child] = idsOf((await fork(server, source)).json)
  await server.ask('DELETE', `${runtimes}/${source}`)
  if (child === undefined) throw new Error('there is no child')
  const [grandchild] = idsOf((await fork(server, child)).json)
  expect(await read(grandchild ?? '', '/workspace/a')).toBe('then')
  const taken = await server.ask('POST', `${runtimes}/${child}/snapshot`, { json: {} })
  expect(taken.status).toBe(201)
})
