import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BuildError } from '@holt/builder'
import { expect, onTestFinished, test } from 'vitest'
import { type AgentTemplate, readAgentTemplate, readAgentTemplates } from '../../../src/index.ts'
import { FakeBuilder, until } from '../../support/fake-builder.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

const templates = '/v1/agents/template'
const runtimes = '/v1/agents/runtime'

const coder: AgentTemplate = {
  name: 'coder',
  dockerfile: 'FROM holt/base-small\nRUN install-coder 1',
  digest: 'one',
  cpu: 2,
  memoryMiB: 2048,
  diskMiB: 8192,
  vendors: ['anthropic', 'google'],
  buildNetwork: {
    allow: [{ host: 'registry.example.com', ports: [443] }],
    include: [],
    allow_all_hosts: false,
    deny: [],
  },
  files: [],
  application: null,
}

async function setUp(options: Parameters<typeof startTestServer>[0] = {}) {
  const builder = new FakeBuilder()
  return { ...(await startTestServer({ builder, agentTemplates: [coder], ...options })), builder }
}

type Asked = Pick<TestServer, 'ask'>
const get = async ({ ask }: Asked) => (await ask('GET', `${templates}/coder`)).json
const pull = ({ ask }: Asked, json: object = {}, name = 'coder') => ask('POST', `${templates}/${name}/pull`, { json })
const create = ({ ask }: Asked, json: object = {}) => ask('POST', runtimes, { json: { template: 'coder', ...json } })
const comesTo = (server: Asked, state: string) =>
  until(async () => {
    const template = await get(server)
    return template.state === state && template
  })

test('exist from the start, and a later start does not change them', async () => {
  let now = 1_000_000
  const server = await setUp({ now: () => now })
  const first = await get(server)
  expect(first).toMatchObject({
    name: 'coder',
    kind: 'agent',
    state: 'unbuilt',
    cpu: 2,
    disk_mib: 8192,
    build_id: null,
  })
  now += 60_000
  const second = await server.restart()
  expect(await get(second)).toEqual(first)
  now += 60_000
  const grown = await get(await second.restart({ agentTemplates: [{ ...coder, diskMiB: 16_384 }] }))
  expect(grown).toMatchObject({ template_id: first.template_id, state: 'unbuilt', disk_mib: 16_384 })
  expect(grown.updated_at).not.toBe(first.updated_at)
})

test('are built at their first use, once for all requests', async () => {
  const server = await setUp()
  const { promise, resolve } = Promise.withResolvers<undefined>()
  server.builder.script = () => promise
  const refused = await Promise.all([create(server), create(server), create(server)])
  const ids = new Set(refused.map(({ json }) => json.error.details.build_id))
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503])
  expect(refused.every(({ headers }) => Number(headers.get('retry-after')) > 0)).toBe(true)
  expect(refused[0]?.json.error).toMatchObject({ code: 'unavailable', details: { template_state: 'building' } })
  expect(ids.size).toBe(1)
  expect((await pull(server)).json).toMatchObject({ build_id: [...ids][0], name: 'coder' })
  resolve(undefined)
  await comesTo(server, 'ready')
  expect(await create(server)).toMatchObject({
    status: 201,
    json: { template: { name: 'coder' }, cpu: 2, memory_mib: 2048, disk_mib: 8192, network_policy: null },
  })
  expect(server.builder.runs).toHaveLength(1)
  expect(server.builder.runs[0]?.request).toMatchObject({
    source: { type: 'dockerfile', text: coder.dockerfile },
    diskMiB: 8192,
    noCache: false,
  })
})

test('report why their build failed, and a pull tries again', async () => {
  const server = await setUp()
  server.builder.script = () => Promise.reject(new BuildError('step_failed', 'the registry is down'))
  expect((await pull(server)).status).toBe(202)
  expect((await comesTo(server, 'failed')).state_reason).toMatchObject({ code: 'step_failed' })
  const refused = await create(server)
  expect(refused).toMatchObject({
    status: 409,
    json: { error: { hint: expect.stringContaining('holt template pull') } },
  })
  expect(refused.json.error.message).toContain('the registry is down')
  expect(server.builder.runs).toHaveLength(1)
  server.builder.script = async () => undefined
  expect((await pull(server, { no_cache: true })).status).toBe(202)
  await comesTo(server, 'ready')
  expect(server.builder.runs[1]?.request.noCache).toBe(true)
})

test('are rebuilt in the background when their Dockerfile changes', async () => {
  const server = await setUp()
  await pull(server)
  const first = await comesTo(server, 'ready')
  const newer = { ...coder, dockerfile: 'FROM holt/base-small\nRUN install-coder 2', digest: 'two' }
  const again = await server.restart({ agentTemplates: [newer] })
  expect(await get(again)).toMatchObject({ state: 'ready', image_digest: first.image_digest })
  expect((await create(again)).status).toBe(201)
  const renewed = await until(async () => {
    const template = await get(again)
    return template.image_digest !== first.image_digest && template
  })
  expect(renewed).toMatchObject({ state: 'ready', template_id: first.template_id })
  expect((await create(again)).status).toBe(201)
  expect(server.builder.runs).toHaveLength(2)
})

test('stay in use if a rebuild fails, which is tried once', async () => {
  const server = await setUp()
  await pull(server)
  await comesTo(server, 'ready')
  const again = await server.restart({ agentTemplates: [{ ...coder, digest: 'two' }] })
  server.builder.script = () => Promise.reject(new BuildError('step_failed', 'the registry is down'))
  for (let creates = 0; creates < 3; creates += 1) expect((await create(again)).status).toBe(201)
  await until(async () => (await again.ask('GET', `${templates}/build?name=coder`)).json.data[0].status === 'failed')
  expect((await create(again)).status).toBe(201)
  expect(server.builder.runs).toHaveLength(2)
  expect(await get(again)).toMatchObject({ state: 'ready', state_reason: null })
})

test('wait for their base template', async () => {
  const server = await setUp({ baseSource: null })
  for (const answer of [await create(server), await pull(server)]) expect(answer.status).toBe(404)
  expect(await get(server)).toMatchObject({ state: 'unbuilt', build_id: null })
})

test('are unbuilt again after a delete', async () => {
  const server = await setUp()
  await pull(server)
  const { template_id } = await comesTo(server, 'ready')
  expect((await server.ask('DELETE', `${templates}/coder`)).status).toBe(204)
  expect(await get(server)).toMatchObject({ template_id, state: 'unbuilt', image_digest: null })
})

test('are the only templates to pull, and their names are reserved', async () => {
  const server = await setUp()
  expect(await pull(server, {}, 'base-small')).toMatchObject({ status: 400 })
  expect(await pull(server, {}, 'nobody')).toMatchObject({ status: 404 })
  const build = { name: 'coder', dockerfile: 'FROM scratch' }
  const taken = await server.ask('POST', `${templates}/build`, { json: build })
  expect(taken).toMatchObject({ status: 409, json: { error: { code: 'name_taken' } } })
})

test('can be pulled with the scope to build templates', async () => {
  const server = await setUp()
  const { key } = await server.makeKey('template:read', 'runtime:write')
  expect((await server.ask('POST', `${templates}/coder/pull`, { json: {}, key })).status).toBe(403)
})

test('let a runtime reach only the vendors of its secrets', async () => {
  const server = await setUp()
  await pull(server)
  await comesTo(server, 'ready')
  for (const name of ['anthropic', 'google', 'openai'])
    await server.ask('POST', '/v1/agents/secret', { json: { name, value: `value-of-${name}` } })
  const reach = async (json: object) => {
    const made = await create(server, json)
    expect(made.status, made.text).toBe(201)
    return (await server.ask('GET', `${runtimes}/${made.json.runtime_id}/network`)).json.policy
  }
  expect(await reach({ secrets: ['anthropic'] })).toMatchObject({
    allow: [{ host: 'api.anthropic.com', ports: [443] }],
    include: [],
    allow_all_hosts: false,
  })
  const both = await reach({ secrets: ['anthropic', 'google'] })
  expect(both.allow.map(({ host }: { host: string }) => host)).toEqual([
    'api.anthropic.com',
    'generativelanguage.googleapis.com',
  ])
  expect(await reach({})).toBeNull()
  const own = { allow: [{ host: 'api.anthropic.com' }, { host: 'example.com' }] }
  expect((await reach({ secrets: ['anthropic'], network_policy: own })).allow).toHaveLength(2)
  for (const json of [
    { secrets: ['openai'] }, // It is no vendor of this template.
    { secrets: ['anthropic'], network_policy: null },
    { secrets: ['anthropic'], template: 'base-small' },
  ])
    expect(await create(server, json), JSON.stringify(json)).toMatchObject({ status: 400 })
})

test('reach their vendors, even if a secret of that name is for another host', async () => {
  const server = await setUp()
  await pull(server)
  await comesTo(server, 'ready')
  const json = { name: 'anthropic', value: 'a-value', hosts: ['proxy.example.com'] }
  expect((await server.ask('POST', '/v1/agents/secret', { json })).status).toBe(201)
  const refused = await create(server, { secrets: ['anthropic'] })
  expect(refused).toMatchObject({ status: 400 })
  expect(refused.text).toContain('proxy.example.com')
})

test('are built with the files that their Dockerfile copies, and with their application', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-agents-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const kernels = join(dir, 'kernels')
  await mkdir(join(kernels, 'bridge', '__pycache__'), { recursive: true })
  const write = (path: string, text: string) => writeFile(join(kernels, path), text)
  await write('Dockerfile', 'FROM holt/base-small\nCOPY bridge /opt/bridge\n')
  await write('bridge/main.py', 'print(1)')
  await write('bridge/__pycache__/main.pyc', 'a cache')
  await write('notes.txt', 'not a file of the build')
  await write(
    'template.json',
    JSON.stringify({
      ...{ cpu: 2, memory: '2GiB', disk: '8GiB', build_network: { include: ['pypi'] } },
      ...{ context: ['bridge'], start_cmd: 'python main.py', ready_cmd: 'true', ready_timeout_secs: 60 },
    }),
  )
  const template = await readAgentTemplate(kernels)
  expect(template).toMatchObject({
    name: 'kernels',
    vendors: [],
    files: [{ path: 'bridge/main.py' }],
    application: { startCmd: 'python main.py', readyCmd: 'true', readyTimeoutSecs: 60 },
  })
  const server = await setUp({ agentTemplates: [template] })
  expect((await pull(server, {}, 'kernels')).status).toBe(202)
  const built = await until(async () => {
    const { json } = await server.ask('GET', `${templates}/kernels`)
    return json.state === 'ready' && json
  })
  expect(built).toMatchObject({ kind: 'agent', start_cmd: 'python main.py', ready_cmd: 'true' })
  const [run] = server.builder.runs
  expect(run?.request.context).toMatchObject({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
  await write('bridge/main.py', 'print(2)')
  expect((await readAgentTemplate(kernels)).digest).not.toBe(template.digest)
})

test('match their directories', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-agents-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  await mkdir(join(dir, 'coder'))
  await writeFile(join(dir, 'README.md'), 'not a template')
  await writeFile(join(dir, 'coder', 'Dockerfile'), coder.dockerfile)
  const settings = { cpu: 2, memory: '2GiB', disk: 8, vendors: ['google'], build_network: { include: ['npm'] } }
  const write = (json: object) => writeFile(join(dir, 'coder', 'template.json'), JSON.stringify(json))
  await write(settings)
  const [first] = await readAgentTemplates(dir)
  expect(first).toMatchObject({ name: 'coder', memoryMiB: 2048, diskMiB: 8192, dockerfile: coder.dockerfile })
  await write({ ...settings, disk: 9 })
  expect((await readAgentTemplates(dir))[0]?.digest).not.toBe(first?.digest)
  await write({ ...settings, vendors: ['nobody'] })
  await expect(readAgentTemplates(dir)).rejects.toThrow()
})
