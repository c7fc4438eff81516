import { BuildError } from '@holt/builder'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { ended, FakeBuilder, importImage, startStep, until } from '../support/fake-builder.ts'
import { startTestServer, type TestServer } from '../support/start-test-server.ts'
import { tarOf } from '../support/tar-of.ts'

const templates = '/v1/agents/template'
const builds = `${templates}/build`

async function setUp(options: Parameters<typeof startTestServer>[0] = {}) {
  const builder = new FakeBuilder()
  const server = await startTestServer({ builder, ...options })
  return { ...server, builder }
}

const build = ({ ask }: TestServer, json: object = {}) =>
  ask('POST', builds, { json: { name: 'app', dockerfile: 'FROM scratch', ...json } })

test('a build makes a template, and the template makes runtimes', async () => {
  const server = await setUp()
  const { ask, makeRuntime, engine } = server
  const settings = { disk: '8GiB', memory: '512MiB', cpu: 2, on_restore: 'true', env: { GREETING: 'hello' } }
  const started = await build(server, settings)
  expect([started.status, started.json]).toMatchObject([202, { name: 'app', tag: 'latest' }])
  const { build_id, template_id } = started.json
  const done = await ended(server, build_id)
  expect(done).toMatchObject({
    status: 'ready',
    template_id,
    reason: null,
    warnings: ['a warning'],
    ignored: [{ instruction: 'CMD', line: 3 }],
    size_bytes: 123,
  })
  expect(done.image_digest).toMatch(/^sha256:/)
  const template = (await ask('GET', `${templates}/app`)).json
  expect(template).toMatchObject({
    template_id,
    kind: 'custom',
    state: 'ready',
    build_id,
    source: 'a test',
    image_digest: done.image_digest,
    cpu: 2,
    memory_mib: 512,
    disk_mib: 8192,
    env: { GREETING: 'hello' },
    user: 'app',
    workdir: '/app',
    labels: { team: 'red' },
    ports: ['8080/tcp'],
    on_restore: 'true',
    starts: null,
    has_checkpoint: false,
    progress: null,
    ignored: [{ instruction: 'CMD', line: 3 }],
  })
  const id = await makeRuntime({ template: 'app:latest', env: { MORE: '1' } })
  expect((await ask('GET', `/v1/agents/runtime/${id}`)).json).toMatchObject({
    template: { template_id, name: 'app' },
    cpu: 2,
    memory_mib: 512,
    disk_mib: 8192,
  })
  expect((await engine.inspect(id))?.spec.imageDigest).toBe(done.image_digest)
  expect(engine.guest(id)?.identity).toMatchObject({
    env: { GREETING: 'hello', MORE: '1' },
    user: 'app',
    workdir: '/app',
  })
  const small = await ask('POST', '/v1/agents/runtime', { json: { template: 'app', disk: '4GiB' } })
  expect([small.status, small.json.error]).toMatchObject([
    422,
    { code: 'disk_too_small', details: { required_mib: 8192 } },
  ])
  expect((await ask('POST', '/v1/agents/runtime', { json: { template: 'app', disk: '16GiB' } })).json.disk_mib).toBe(
    16384,
  )
})

test('the builder receives every requested option', async () => {
  const server = await setUp()
  const context = await server.ask('POST', `${templates}/context`, { body: await tarOf({ 'a.txt': 'hello' }) })
  const asked = {
    dockerfile: 'FROM scratch\nRUN x',
    target: 'one',
    build_args: { A: '1' },
    build_secrets: { token: 'hunter22' },
    registry_auth: { username: 'u', password: 'hunter33' },
    start_cmd: 'serve',
    ready_cmd: 'test -f /ready',
    ready_timeout_secs: 5,
    timeout_secs: 50,
    env: { B: '2' },
    user: 'me',
    workdir: '/srv',
    no_cache: true,
    context_id: context.json.context_id,
  }
  const { build_id } = (await build(server, asked)).json
  await ended(server, build_id)
  expect(server.builder.runs[0]?.request).toEqual({
    buildId: build_id,
    source: { type: 'dockerfile', text: asked.dockerfile, target: 'one' },
    buildArgs: { A: '1' },
    buildSecrets: { token: 'hunter22' },
    registryAuth: { registry: null, username: 'u', password: 'hunter33' },
    context: { path: `${server.stateDir}/builds/contexts/${context.json.context_id}.tar`, sha256: context.json.sha256 },
    noCache: true,
    cpu: 1,
    memoryMiB: 1024,
    diskMiB: 4096,
    startCmd: 'serve',
    readyCmd: 'test -f /ready',
    readyTimeoutMs: 5000,
    timeoutMs: 50_000,
    env: { B: '2' },
    user: 'me',
    workdir: '/srv',
    policyKey: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  const image = await build(server, {
    dockerfile: undefined,
    from_image: 'alpine:3',
    steps: [{ run: 'id' }],
    name: 'two',
  })
  await ended(server, image.json.build_id)
  expect(server.builder.runs[1]?.request.source).toEqual({
    type: 'image',
    reference: 'alpine:3',
    steps: [{ run: 'id' }],
  })
})

test('the template has the checkpoint of the build, and its field starts says how it is used', async () => {
  const server = await setUp()
  const { engine } = server
  const serve = { start_cmd: 'sleep', ready_cmd: 'true' }
  let checkpointBytes = 0
  let checkpointId = ''
  server.builder.script = async ({ host }) => {
    const imageDigest = await importImage(host, 'app')
    const { runtime } = await startStep(host, imageDigest)
    checkpointId = await host.newCheckpointId()
    const checkpoint = await host.engine
      .ability('checkpoints')
      ?.take(runtime.id, checkpointId, AbortSignal.timeout(5000))
    await runtime[Symbol.asyncDispose]()
    checkpointBytes = checkpoint?.sizeBytes ?? 0
    return { imageDigest, checkpoint: checkpoint ?? null }
  }
  const template = async () => (await server.ask('GET', `${templates}/app`)).json
  await ended(server, (await build(server, { memory: '4GiB', cpu: 1, ...serve })).json.build_id)
  expect(await template()).toMatchObject({
    has_checkpoint: true,
    starts: 'restored',
    size_bytes: 123 + checkpointBytes,
  })
  expect(checkpointBytes).toBeGreaterThan(0)
  const { use } = (await server.ask('GET', '/v1/agents/project/default')).json
  expect(use.template_bytes).toBe(123 + checkpointBytes)
  const restored = async (body: object) => {
    const id = await server.makeRuntime({ template: 'app', ...body })
    return (await engine.inspect(id))?.restored
  }
  expect([await restored({}), await restored({ memory: '2GiB' }), await restored({ isolation: 'container' })]).toEqual([
    true,
    false,
    false,
  ])
  await engine.ability('checkpoints')?.remove(checkpointId)
  expect(await restored({})).toBe(false) // Its image is enough.
  server.builder.script = async () => undefined
  await ended(server, (await build(server, serve)).json.build_id)
  expect(await template()).toMatchObject({ has_checkpoint: false, starts: 'boot', start_cmd: 'sleep' })
  await ended(server, (await build(server)).json.build_id)
  expect(await template()).toMatchObject({ has_checkpoint: false, starts: null })
})

test('a failed build and its template have the reason', async () => {
  const server = await setUp()
  server.builder.script = async ({ host }) => {
    host.report.steps([
      { step: 1, text: 'RUN false', stage: null, line: 2, state: 'running', duration_ms: null },
      { step: 2, text: 'RUN true', stage: null, line: 3, state: 'waiting', duration_ms: null },
    ])
    throw new BuildError('step_failed', 'RUN false exited with 1', {
      step: 1,
      hint: 'Look.',
      details: { exit_code: 1 },
    })
  }
  const { build_id } = (await build(server)).json
  expect(await ended(server, build_id)).toMatchObject({
    status: 'failed',
    reason: {
      code: 'step_failed',
      step: 1,
      message: 'RUN false exited with 1',
      hint: 'Look.',
      details: { exit_code: 1 },
    },
    steps: [{ state: 'failed' }, { state: 'skipped' }],
    image_digest: null,
  })
  expect((await server.ask('GET', `${templates}/app`)).json).toMatchObject({
    state: 'failed',
    state_reason: { code: 'step_failed', message: 'RUN false exited with 1' },
    build_id,
  })
  const refused = await server.ask('POST', '/v1/agents/runtime', { json: { template: 'app' } })
  expect([refused.status, refused.json.error.code, refused.json.error.details.build_id]).toEqual([
    409,
    'conflict',
    build_id,
  ])
  server.builder.script = async () => undefined
  await ended(server, (await build(server)).json.build_id)
  expect((await server.ask('GET', `${templates}/app`)).json).toMatchObject({ state: 'ready', state_reason: null })
})

test('an unexpected failure is internal, and its message is only in the log of the service', async () => {
  const server = await setUp()
  server.builder.script = () => Promise.reject(new Error('/var/lib/holt/x: EIO'))
  const { reason } = await ended(server, (await build(server)).json.build_id)
  expect(reason).toMatchObject({ code: 'internal', message: 'The service failed.' })
  expect(server.logged).toContainEqual(expect.objectContaining({ level: 'error', message: 'a build failed' }))
})

test('a template that is rebuilt serves its old version until the new one is ready or if it fails', async () => {
  const server = await setUp()
  const { ask, builder, makeRuntime, engine } = server
  const imageOf = async (id: string) => (await engine.inspect(id))?.spec.imageDigest
  const first = await ended(server, (await build(server)).json.build_id)
  const { promise: go, resolve } = Promise.withResolvers<void>()
  builder.script = () => go.then(() => undefined)
  const second = (await build(server, { dockerfile: 'FROM two' })).json
  await until(() => builder.runs.length === 2)
  expect((await ask('GET', `${templates}/app`)).json).toMatchObject({
    state: 'ready',
    image_digest: first.image_digest,
  })
  const old = await makeRuntime({ template: 'app' })
  resolve()
  const { image_digest } = await ended(server, second.build_id)
  expect(image_digest).not.toBe(first.image_digest)
  expect(await imageOf(old)).toBe(first.image_digest)
  expect(await imageOf(await makeRuntime({ template: 'app' }))).toBe(image_digest)
  builder.script = () => Promise.reject(new BuildError('step_failed', 'no'))
  await ended(server, (await build(server, { dockerfile: 'FROM three' })).json.build_id)
  expect((await ask('GET', `${templates}/app`)).json).toMatchObject({ state: 'ready', image_digest })
})

test.each(['failed', 'cancelled'])('a build that has %s lists its ignored instructions', async (status) => {
  const server = await setUp()
  const reason = 'A runtime runs the commands that it is given; hunter22 is a secret.'
  server.builder.script = async ({ host, signal }) => {
    host.report.ignored([{ instruction: 'CMD', line: 1, reason: 'replaced by the next call' }])
    host.report.ignored([{ instruction: 'CMD', line: 2, reason }])
    if (status === 'failed') throw new BuildError('start_cmd_failed', 'It exited with 1.')
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    return undefined
  }
  const { build_id } = (await build(server, { build_secrets: { token: 'hunter22' } })).json
  if (status === 'cancelled') {
    await until(() => server.builder.runs.length === 1)
    await server.ask('DELETE', `${builds}/${build_id}`)
  }
  const done = await ended(server, build_id)
  expect(done.status).toBe(status)
  expect(done.ignored).toEqual([{ instruction: 'CMD', line: 2, reason: reason.replace('hunter22', '***') }])
})

test('equal concurrent requests share one build, and others for the template wait', async () => {
  const server = await setUp()
  const { promise: go, resolve } = Promise.withResolvers<void>()
  server.builder.script = () => go.then(() => undefined)
  const secret = { build_secrets: { token: 'hunter22' } }
  const [one, same, other, secretly] = await Promise.all([
    build(server),
    build(server),
    build(server, { dockerfile: 'FROM two' }),
    build(server, secret),
  ])
  expect(same.json.build_id).toBe(one.json.build_id)
  const ids = [one, other, secretly].map(({ json }) => json.build_id)
  expect(new Set(ids).size).toBe(3)
  await until(() => server.builder.runs.length === 1)
  const statusOf = async (id: string) => (await server.ask('GET', `${builds}/${id}`)).json.status
  const statuses = await Promise.all(ids.map(statusOf))
  expect(statuses.filter((status) => status !== 'queued')).toHaveLength(1)
  resolve()
  for (const id of ids) expect((await ended(server, id)).status).toBe('ready')
  expect((await build(server)).json.build_id).not.toBe(one.json.build_id)
})

test('a repeated request with the same Idempotency-Key gets the build that it started', async () => {
  const server = await setUp()
  const again = () =>
    server.ask('POST', builds, {
      json: { name: 'app', dockerfile: 'FROM scratch' },
      headers: { 'idempotency-key': 'k' },
    })
  const { json } = await again()
  await ended(server, json.build_id)
  expect((await again()).json.build_id).toBe(json.build_id)
  expect(server.builder.runs).toHaveLength(1)
})

test('each tag is its own template', async () => {
  const server = await setUp()
  await ended(server, (await build(server)).json.build_id)
  await ended(server, (await build(server, { tag: 'v2', dockerfile: 'FROM two' })).json.build_id)
  const [latest, second] = [
    (await server.ask('GET', `${templates}/app`)).json,
    (await server.ask('GET', `${templates}/app:v2`)).json,
  ]
  expect([latest.tag, second.tag]).toEqual(['latest', 'v2'])
  const id = await server.makeRuntime({ template: 'app:v2' })
  expect((await server.ask('GET', `/v1/agents/runtime/${id}`)).json.template.name).toBe('app:v2')
  expect((await server.ask('GET', '/v1/agents/runtime?template=app:v2')).json.data).toHaveLength(1)
  expect((await server.ask('GET', '/v1/agents/runtime?template=app')).json.data).toHaveLength(0)
})

test('lists of templates and builds can be filtered', async () => {
  const server = await setUp()
  const { json } = await build(server)
  await ended(server, json.build_id)
  await ended(server, (await build(server, { name: 'two' })).json.build_id)
  const names = async (query: string) =>
    (await server.ask('GET', `${templates}?${query}`)).json.data.map(({ name }: { name: string }) => name)
  expect(await names('kind=custom')).toEqual(['two', 'app'])
  expect(await names('kind=system&state=ready')).toHaveLength(3)
  expect(await names('name=app')).toEqual(['app'])
  expect(await names('state=failed')).toEqual([])
  const found = async (query: string) => (await server.ask('GET', `${builds}?${query}`)).json.data.length
  expect([await found(''), await found('name=app'), await found(`template_id=${json.template_id}`)]).toEqual([2, 1, 1])
  const page = (await server.ask('GET', `${builds}?limit=1`)).json
  expect((await server.ask('GET', `${builds}?limit=1&cursor=${page.next_cursor}`)).json.data[0].name).toBe('app')
})

test.each([
  [{ name: 'base-small' }, 409, 'name_taken'],
  [{ name: 'build' }, 400, 'invalid_request'],
  [{ from_image: 'x' }, 400, 'invalid_request'],
  [{ dockerfile: undefined, from_template: 'none' }, 404, 'template_not_found'],
  [{ context_id: `cx${'a'.repeat(20)}` }, 404, 'context_not_found'],
  [{ context_id: '../x' }, 404, 'context_not_found'],
  [{ network_policy: 'none' }, 404, 'policy_not_found'],
  [{ memory: '4TiB' }, 400, 'unsupported_setting'],
])('%j is refused before anything is created', async (json, status, code) => {
  const server = await setUp()
  const answer = await build(server, json)
  expect([answer.status, answer.json.error.code]).toEqual([status, code])
  expect((await server.ask('GET', `${templates}?kind=custom`)).json.data).toEqual([])
  expect((await server.ask('GET', builds)).json.data).toEqual([])
})

test('a build is refused if no isolation class is available', async () => {
  const none = { available: false, reason: 'a test', fix: null } as const
  const engine = new FakeEngine({ facts: { isolation: { gvisor: none, container: none } } })
  const server = await setUp({ engine, baseSource: null })
  expect((await build(server)).json.error.code).toBe('not_supported_here')
})

test('a build on top of a template inherits its settings', async () => {
  const server = await setUp()
  await ended(server, (await build(server)).json.build_id)
  const bases: unknown[] = []
  server.builder.script = async ({ host }) => {
    for (const name of ['app', 'base-small']) bases.push(await host.findTemplate(name))
    const missing = await host.findTemplate('none').catch((error) => error)
    expect(missing).toMatchObject({ code: 'image_not_found' })
    return undefined
  }
  const on = { dockerfile: undefined, from_template: 'app', name: 'two' }
  expect((await ended(server, (await build(server, on)).json.build_id)).status).toBe('ready')
  const { image_digest } = (await server.ask('GET', `${templates}/app`)).json
  expect(bases).toMatchObject([
    { imageDigest: image_digest, settings: { env: { PATH: '/app/bin' }, user: 'app', workdir: '/app' } },
    { settings: { env: { PATH: '/bin', FROM_TEMPLATE: 'yes' }, user: 'user', shell: ['/bin/sh', '-c'] } },
  ])
})

test('a check reports the effect of each line in a build', async () => {
  const { ask } = await setUp()
  const dockerfile = 'FROM alpine:3\nCMD ["x"]\nRUN --security=insecure id'
  const { json } = await ask('POST', `${templates}/check`, { json: { dockerfile } })
  expect(json.ok).toBe(false)
  expect(json.lines.map(({ verdict }: { verdict: string }) => verdict)).toEqual(['supported', 'ignored', 'refused'])
  expect(json.images).toEqual(['alpine:3'])
})

test('a deleted template keeps its runtimes, and its files go with the last of them', async () => {
  const server = await setUp()
  const { ask, engine, makeRuntime } = server
  const { image_digest } = await ended(server, (await build(server)).json.build_id)
  const id = await makeRuntime({ template: 'app' })
  expect((await ask('DELETE', `${templates}/app`)).status).toBe(204)
  expect((await ask('GET', `${templates}/app`)).json.error.code).toBe('template_not_found')
  expect((await ask('POST', '/v1/agents/runtime', { json: { template: 'app' } })).json.error.code).toBe(
    'template_not_found',
  )
  const command = { command: 'echo hello', background: true }
  expect((await ask('POST', `/v1/agents/runtime/${id}/commands`, { json: command })).status).toBe(201)
  const has = () => engine.ability('images')?.has(image_digest)
  expect(await has()).toBe(true)
  await ask('DELETE', `/v1/agents/runtime/${id}`)
  await ended(server, (await build(server, { name: 'two', dockerfile: 'FROM two' })).json.build_id)
  await until(async () => (await has()) === false)
})

test('system templates cannot be deleted', async () => {
  const { ask } = await setUp()
  const answer = await ask('DELETE', `${templates}/base-small`)
  expect([answer.status, answer.json.error.code]).toEqual([409, 'conflict'])
  expect((await ask('GET', `${templates}/base-small`)).json.state).toBe('ready')
})

test('routes need their scopes', async () => {
  const server = await setUp()
  const { key } = await server.makeKey('template:read')
  const { json } = await build(server)
  await ended(server, json.build_id)
  const request = { key, json: { name: 'app', dockerfile: 'FROM x' } }
  expect((await server.ask('POST', builds, request)).status).toBe(403)
  expect((await server.ask('DELETE', `${templates}/app`, { key })).status).toBe(403)
  expect((await server.ask('DELETE', `${builds}/${json.build_id}`, { key })).status).toBe(403)
  expect((await server.ask('POST', `${templates}/context`, { key, body: 'x' })).status).toBe(403)
  expect((await server.ask('GET', `${builds}/${json.build_id}`, { key })).status).toBe(200)
  expect((await server.ask('POST', `${templates}/check`, { key, json: { dockerfile: 'FROM x' } })).status).toBe(200)
})

test('a project with many queued builds gets 429', async () => {
  const server = await setUp()
  server.builder.script = ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const answers = await Promise.all(
    Array.from({ length: 54 }, (_, index) => build(server, { name: `app-${index}`, dockerfile: 'FROM x' })),
  )
  const refused = answers.filter(({ status }) => status !== 202)
  expect(refused.map(({ status, json }) => [status, json.error.code])).toEqual([
    [429, 'quota_exceeded'],
    [429, 'quota_exceeded'],
  ])
  expect((await server.ask('GET', `${templates}?kind=custom&limit=100`)).json.data).toHaveLength(52)
})
