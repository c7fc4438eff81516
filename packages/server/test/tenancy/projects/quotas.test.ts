import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { checkpointOf } from '../../../src/foundation/rows/checkpoint-id.ts'
import { ended, FakeBuilder, until } from '../../support/fake-builder.ts'
import { makeProject } from '../../support/own-project.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

const runtimes = '/v1/agents/runtime'
const templates = '/v1/agents/template/build'
type Answers = readonly Awaited<ReturnType<TestServer['ask']>>[]

const statuses = (answers: Answers) => {
  const counts = new Map<number, number>()
  for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1)
  return Object.fromEntries(counts)
}

test('a refusal says how much of the quota is left', async () => {
  const server = await startTestServer()
  const team = await makeProject(server, 'team', { cpu: 1.5 })
  await team.ask('POST', runtimes, { json: { cpu: 0.7 } })
  await team.ask('POST', runtimes, { json: { cpu: 0.1 } })
  expect((await team.ask('POST', runtimes, { json: { cpu: 2 } })).json.error.message).toBe(
    'Quota cpu: 0.8 of 1.5 used. This needs 2 more.',
  )
})

test('of 200 creates at once a quota of 10 accepts 10 and refuses the others', async () => {
  const server = await startTestServer()
  const team = await makeProject(server, 'team', { runtimes: 10 })
  const answers = await Promise.all(Array.from({ length: 200 }, () => team.ask('POST', runtimes, { json: {} })))
  expect(statuses(answers)).toEqual({ 201: 10, 429: 190 })
  const refused = answers.find(({ status }) => status === 429)
  expect(refused?.json.error).toMatchObject({
    code: 'quota_exceeded',
    message: 'Quota runtimes: 10 of 10 used.',
    details: { quota: 'runtimes', limit: 10, used: 10 },
  })
  expect(Object.fromEntries(refused?.headers ?? [])).toMatchObject({
    'retry-after': '60',
    'ratelimit-limit': '10',
    'ratelimit-remaining': '0',
    'ratelimit-reset': '60',
  })
  const { use } = (await team.ask('GET', '/v1/agents/whoami')).json
  expect(use).toMatchObject({ runtimes: 10, memory_mib: 10 * 1024, cpu: 10, disk_mib: 10 * 4096 })
  // Another project is not held back by it.
  expect((await server.ask('POST', runtimes, { json: {} })).status).toBe(201)
}, 180_000)

test('use is counted from rows, so restarts and failures do not change it', async () => {
  const server = await startTestServer()
  const team = await makeProject(server, 'team', { runtimes: 2 })
  const [first] = await Promise.all([1, 2].map(() => team.ask('POST', runtimes, { json: {} })))
  const again = await server.restart()
  const ask: TestServer['ask'] = (method, path, request = {}) => again.ask(method, path, { key: team.key, ...request })
  expect((await ask('POST', runtimes, { json: {} })).json.error.code).toBe('quota_exceeded')
  expect((await ask('POST', runtimes, { json: { template: 'none' } })).json.error.code).toBe('template_not_found')
  await ask('DELETE', `${runtimes}/${first?.json.runtime_id}`)
  expect((await ask('POST', runtimes, { json: {} })).status).toBe(201)
})

test.each([
  [{ cpu: 2.5 }, { cpu: 1.25 }, 2],
  [{ memory_mib: 3072 }, { memory: 1 }, 3],
  [{ disk_mib: 9000 }, { disk: '4500MiB' }, 2],
])('the quota %j applies to %j: %i of them', async (quotas, size, count) => {
  const server = await startTestServer()
  const team = await makeProject(server, 'team', quotas)
  const answers = await Promise.all(Array.from({ length: 6 }, () => team.ask('POST', runtimes, { json: size })))
  expect(statuses(answers)).toEqual({ 201: count, 429: 6 - count })
  expect(answers.find(({ status }) => status === 429)?.json.error.details.quota).toBe(Object.keys(quotas)[0])
})

test('a fork makes as many children as fit, and no room does not stop the runtime', async () => {
  const takes: string[] = []
  const engine = new FakeEngine({ before: (verb, id) => void (verb === 'take' && takes.push(id)) })
  const server = await startTestServer({ engine })
  const team = await makeProject(server, 'team', { runtimes: 4 })
  const { runtime_id } = (await team.ask('POST', runtimes, { json: {} })).json
  const { json } = await team.ask('POST', `${runtimes}/${runtime_id}/fork`, { json: { count: 8 } })
  expect(json.data.filter(({ runtime }: { runtime: unknown }) => runtime !== null)).toHaveLength(3)
  const codes = json.data.flatMap(({ error }: { error: { code: string } | null }) => error?.code ?? [])
  expect(codes).toEqual(Array.from({ length: 5 }, () => 'quota_exceeded'))
  expect(takes.filter((id) => id === runtime_id)).toHaveLength(1)
  const none = await team.ask('POST', `${runtimes}/${runtime_id}/fork`, { json: { count: 1 } })
  expect([none.status, none.json.error.details]).toEqual([429, { quota: 'runtimes', limit: 4, used: 4 }])
  expect(takes.filter((id) => id === runtime_id)).toHaveLength(1)
})

test('a paused runtime frees its place, and needs one to resume', async () => {
  const server = await startTestServer()
  const team = await makeProject(server, 'team', { runtimes: 1, paused_runtimes: 1 })
  const first = (await team.ask('POST', runtimes, { json: {} })).json.runtime_id
  expect((await team.ask('POST', `${runtimes}/${first}/pause`)).json.state).toBe('paused')
  const second = (await team.ask('POST', runtimes, { json: {} })).json.runtime_id
  const refused = await team.ask('POST', `${runtimes}/${second}/pause`)
  expect(refused.json.error.details).toEqual({ quota: 'paused_runtimes', limit: 1, used: 1 })
  expect((await team.ask('GET', `${runtimes}/${second}`)).json.state).toBe('running')
  expect((await team.ask('POST', `${runtimes}/${first}/resume`)).json.error.details.quota).toBe('runtimes')
  const command = { json: { command: 'true' } }
  expect((await team.ask('POST', `${runtimes}/${first}/commands`, command)).json.error.code).toBe('quota_exceeded')
  await team.ask('DELETE', `${runtimes}/${second}`)
  expect((await team.ask('POST', `${runtimes}/${first}/resume`)).json.state).toBe('running')
})

test('of many resumes at once as many succeed as fit', async () => {
  const server = await startTestServer()
  const team = await makeProject(server, 'team')
  const made = await Promise.all(Array.from({ length: 6 }, () => team.ask('POST', runtimes, { json: {} })))
  const ids = made.map(({ json }) => json.runtime_id)
  for (const id of ids) await team.ask('POST', `${runtimes}/${id}/pause`)
  await server.ask('PATCH', '/v1/agents/project/team', { json: { quotas: { runtimes: 2 } } })
  const answers = await Promise.all(ids.map((id) => team.ask('POST', `${runtimes}/${id}/resume`)))
  expect(statuses(answers)).toEqual({ 200: 2, 429: 4 })
  expect((await team.ask('GET', '/v1/agents/whoami')).json.use).toMatchObject({ runtimes: 2, paused_runtimes: 4 })
})

test('a snapshot above the quota fails and leaves nothing', async () => {
  const server = await startTestServer()
  const team = await makeProject(server, 'team')
  const { runtime_id } = (await team.ask('POST', runtimes, { json: {} })).json
  const content = `${runtimes}/${runtime_id}/files/content?path=/tmp/some`
  await team.ask('PUT', content, { body: 'x'.repeat(1000) })
  const take = (name: string) => team.ask('POST', `${runtimes}/${runtime_id}/snapshot`, { json: { name } })
  const { size_bytes } = (await take('one')).json
  expect(size_bytes).toBeGreaterThan(1000)
  const set = (snapshot_bytes: number) =>
    server.ask('PATCH', '/v1/agents/project/team', { json: { quotas: { snapshot_bytes } } })
  await set(2 * size_bytes)
  expect((await take('two')).status).toBe(201)
  expect((await take('three')).json.error.details).toEqual({
    quota: 'snapshot_bytes',
    limit: 2 * size_bytes,
    used: 2 * size_bytes,
  })
  await set(3 * size_bytes - 1)
  expect((await take('four')).json.error.code).toBe('quota_exceeded')
  const { data } = (await team.ask('GET', '/v1/agents/snapshot')).json
  expect(data.map(({ name, state }: { name: string; state: string }) => `${name} ${state}`)).toEqual([
    'four failed',
    'two ready',
    'one ready',
  ])
  const kept = async () => (await server.engine.ability('checkpoints')?.list())?.map(({ checkpointId }) => checkpointId)
  await until(async () => !(await kept())?.includes(checkpointOf(data[0].snapshot_id)))
  await team.ask('DELETE', '/v1/agents/snapshot/one')
  expect((await take('five')).status).toBe(201)
})

test('a project runs as many builds as its quota, and the rest wait', async () => {
  const builder = new FakeBuilder()
  const { promise: held, resolve: release } = Promise.withResolvers<undefined>()
  builder.script = () => held
  const server = await startTestServer({ builder })
  const team = await makeProject(server, 'team', { builds: 1 })
  const build = async (ask: TestServer['ask'], name: string) =>
    (await ask('POST', templates, { json: { name, dockerfile: `FROM scratch\nENV A=${name}` } })).json.build_id
  const first = await build(team.ask, 'a')
  await until(() => builder.runs.length === 1)
  const second = await build(team.ask, 'b')
  // There is room for one more on the host, and another project gets it.
  const other = await build(server.ask, 'c')
  await until(() => builder.runs.length === 2)
  expect((await team.ask('GET', `${templates}/${second}`)).json.status).toBe('queued')
  expect((await server.ask('GET', `${templates}/${other}`)).json.status).toBe('pulling')
  expect((await team.ask('GET', '/v1/agents/whoami')).json.use.builds).toBe(2)
  await server.ask('PATCH', '/v1/agents/project/team', { json: { quotas: { builds: 2 } } })
  release(undefined)
  for (const id of [first, second]) expect((await ended(team, id)).status).toBe('ready')
  expect((await ended(server, other)).status).toBe('ready')
})

test('runtimes of a build count: it waits for room, and fails if there can never be any', async () => {
  const builder = new FakeBuilder()
  builder.script = async ({ host }) => {
    await using _ = await host.newRuntime()
    return undefined
  }
  const server = await startTestServer({ builder })
  const team = await makeProject(server, 'team', { runtimes: 1 })
  const { runtime_id } = (await team.ask('POST', runtimes, { json: {} })).json
  const build = async (name: string) =>
    (await team.ask('POST', templates, { json: { name, dockerfile: 'FROM scratch' } })).json.build_id
  const waiting = await build('a')
  const log = async () => (await team.ask('GET', `${templates}/${waiting}/logs`)).text
  await until(async () => (await log()).includes("waiting until the project's quotas have room"))
  await team.ask('DELETE', `${runtimes}/${runtime_id}`)
  expect((await ended(team, waiting)).status).toBe('ready')
  await server.ask('PATCH', '/v1/agents/project/team', { json: { quotas: { memory_mib: 64 } } })
  const failed = await ended(team, await build('b'))
  expect([failed.status, failed.reason.code, failed.reason.details.quota]).toEqual([
    'failed',
    'quota_exceeded',
    'memory_mib',
  ])
})

test('a build frees its place only if no other build can free what it waits for', async () => {
  const builder = new FakeBuilder()
  const { promise: held, resolve: release } = Promise.withResolvers<undefined>()
  builder.script = async ({ host }) => {
    await using _ = await host.newRuntime()
    return await held
  }
  let moment = 0
  const server = await startTestServer({ builder, monotonic: () => moment })
  const team = await makeProject(server, 'team', { runtimes: 1 })
  const build = async (name: string) =>
    (await team.ask('POST', templates, { json: { name, dockerfile: `FROM scratch\nENV A=${name}` } })).json.build_id
  const waits = async (id: string) => {
    const log = async () => (await team.ask('GET', `${templates}/${id}/logs`)).text
    await until(async () => (await log()).includes("waiting until the project's quotas have room"))
    // It has looked once more when another second has gone.
    moment += 60_000
    await new Promise((resolve) => setTimeout(resolve, 1_500))
  }
  const first = await build('a')
  await until(async () => (await team.ask('GET', '/v1/agents/whoami')).json.use.runtimes === 1)
  const second = await build('b')
  await waits(second)
  expect((await team.ask('GET', `${templates}/${second}`)).json.status).not.toBe('failed')
  release(undefined)
  for (const id of [first, second]) expect((await ended(team, id)).status).toBe('ready')
  await team.ask('POST', runtimes, { json: {} })
  const third = await build('c')
  await waits(third)
  const failed = await ended(team, third)
  expect([failed.status, failed.reason.code]).toEqual(['failed', 'quota_exceeded'])
})

test('a template above the quota is not created', async () => {
  const server = await startTestServer({ builder: new FakeBuilder() })
  const team = await makeProject(server, 'team', { template_bytes: 150 })
  const build = (name: string) => team.ask('POST', templates, { json: { name, dockerfile: `FROM ${name}` } })
  // An image of the test's builder has 123 bytes.
  const [one, two] = await Promise.all(['one', 'two'].map(build))
  const ends = await Promise.all([one, two].map((started) => ended(team, started?.json.build_id)))
  expect(ends.map(({ status }) => status).toSorted()).toEqual(['failed', 'ready'])
  expect(ends.find(({ status }) => status === 'failed').reason.details).toEqual({
    quota: 'template_bytes',
    limit: 150,
    used: 123,
  })
  // The same template again takes the place of what it had.
  const again = ends.find(({ status }) => status === 'ready').name
  expect((await ended(team, (await build(again)).json.build_id)).status).toBe('ready')
  await server.ask('PATCH', '/v1/agents/project/team', { json: { quotas: { template_bytes: 123 } } })
  expect((await build('three')).json.error.code).toBe('quota_exceeded')
})
