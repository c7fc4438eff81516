import { createHash } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BuildError } from '@holt/builder'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { type BuildStatus, makeId } from '@holt/protocol'
import { expect, test } from 'vitest'
import { ended, FakeBuilder, type FakeRun, importImage, startStep, until } from '../support/fake-builder.ts'
import { leaveKilledBuild } from '../support/killed-build.ts'
import { startTestServer, type TestServer } from '../support/start-test-server.ts'
import { storedBytes } from '../support/test-store.ts'

const templates = '/v1/agents/template'
const builds = `${templates}/build`
const running = ['pulling', 'building', 'exporting', 'snapshotting'] as const

async function setUp(options: Parameters<typeof startTestServer>[0] = {}) {
  const builder = new FakeBuilder()
  const server = await startTestServer({ builder, ...options })
  return { ...server, builder }
}

const build = ({ ask }: Pick<TestServer, 'ask'>, json: object = {}) =>
  ask('POST', builds, { json: { name: 'app', dockerfile: 'FROM scratch', ...json } })
const cancel = ({ ask }: Pick<TestServer, 'ask'>, id: string) => ask('DELETE', `${builds}/${id}`)

/** Waits for the signal, as a step would that has nothing else to do. */
const untilStopped = ({ signal }: FakeRun) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })

/** Makes a runtime, a checkpoint and an image, and a file, in a status. */
async function makeThings(run: FakeRun, status: BuildStatus) {
  const { host } = run
  host.report.status(status)
  const imageDigest = await importImage(host, 'half a build')
  const first = await startStep(host, imageDigest)
  const checkpointId = await host.newCheckpointId()
  await host.engine.ability('checkpoints')?.take(first.runtime.id, checkpointId, AbortSignal.timeout(5000))
  const second = await startStep(host, imageDigest)
  writeFileSync(join(host.workDir, 'half'), 'x')
  return { runtimeId: second.runtime.id, checkpointId, imageDigest }
}

/** The remains of builds on the host. */
async function residue({ engine, stateDir }: Pick<TestServer, 'engine' | 'stateDir'>) {
  const ids: string[] = []
  const stop = new AbortController()
  for await (const one of engine.observe(stop.signal)) {
    if (one.type === 'listed') break
    if (one.type === 'present') ids.push(one.observed.id)
  }
  stop.abort()
  const work = join(stateDir, 'builds', 'work')
  return {
    runtimes: ids,
    checkpoints: ((await engine.ability('checkpoints')?.list()) ?? []).length,
    images: ((await engine.ability('images')?.list()) ?? []).length,
    work: existsSync(work) ? readdirSync(work) : [],
  }
}

/**
 * Returns true if a build has made its resources. The runtime of the checkpoint has ended by then.
 */
async function hasMadeThings(server: Pick<TestServer, 'engine' | 'stateDir'>): Promise<boolean> {
  const { checkpoints, runtimes } = await residue(server)
  return checkpoints === clean.checkpoints + 1 && runtimes.length === 1
}

/** Only the base templates. */
const clean = { runtimes: [], checkpoints: 0, images: 1, work: [] }

test.each(running)('a build that is %s can be cancelled and leaves nothing', async (status) => {
  const server = await setUp()
  server.builder.script = async (run) => {
    await makeThings(run, status)
    return untilStopped(run)
  }
  const { build_id } = (await build(server)).json
  await until(async () => (await hasMadeThings(server)) && server.builder.runs.length === 1)
  await until(async () => (await server.ask('GET', `${builds}/${build_id}`)).json.status === status)
  const answer = await cancel(server, build_id)
  expect([answer.status, answer.json]).toMatchObject([200, { status: 'cancelled', reason: null }])
  expect(answer.json.ended_at).not.toBeNull()
  await until(async () => JSON.stringify(await residue(server)) === JSON.stringify(clean))
  expect((await server.ask('GET', `${templates}/app`)).json.error.code).toBe('template_not_found')
  expect((await cancel(server, build_id)).json.status).toBe('cancelled')
})

test('a queued build is cancelled at once and never starts', async () => {
  const server = await setUp()
  server.builder.script = untilStopped
  const first = (await build(server)).json.build_id
  const second = (await build(server, { dockerfile: 'FROM two' })).json.build_id
  expect((await cancel(server, second)).json.status).toBe('cancelled')
  expect((await server.ask('GET', `${builds}/${first}`)).json.status).not.toBe('cancelled')
  expect((await server.ask('GET', `${templates}/app`)).json.state).toBe('building')
  await cancel(server, first)
  expect(server.builder.runs).toHaveLength(1)
})

test('a cancel does not wait for a builder that hangs', async () => {
  const server = await setUp()
  const { promise: late, resolve } = Promise.withResolvers<void>()
  server.builder.script = async (run) => {
    const { imageDigest } = await makeThings(run, 'building')
    await late
    // Work that begins after the stop is refused.
    await expect(run.host.newRuntime()).rejects.toThrow('cancelled')
    await expect(run.host.newCheckpointId().then(() => {})).rejects.toThrow('cancelled')
    await expect(importImage(run.host, 'late')).rejects.toThrow('cancelled')
    return { imageDigest }
  }
  const { build_id } = (await build(server)).json
  await until(() => hasMadeThings(server))
  expect((await cancel(server, build_id)).json.status).toBe('cancelled')
  expect((await residue(server)).runtimes).toEqual([])
  resolve()
  await until(async () => JSON.stringify(await residue(server)) === JSON.stringify(clean))
})

test('a build that was ready before the cancel stays ready', async () => {
  const server = await setUp()
  const { build_id } = (await build(server)).json
  await ended(server, build_id)
  expect((await cancel(server, build_id)).json.status).toBe('ready')
})

test('a failed build leaves no files', async () => {
  const server = await setUp()
  server.builder.script = async (run) => {
    await makeThings(run, 'building')
    throw new BuildError('step_failed', 'no')
  }
  await ended(server, (await build(server)).json.build_id)
  await until(async () => JSON.stringify(await residue(server)) === JSON.stringify(clean))
})

test('deleting a template cancels its builds', async () => {
  const server = await setUp()
  await ended(server, (await build(server)).json.build_id)
  server.builder.script = untilStopped
  const { build_id } = (await build(server, { dockerfile: 'FROM two' })).json
  expect((await server.ask('DELETE', `${templates}/app`)).status).toBe(204)
  expect((await server.ask('GET', `${builds}/${build_id}`)).json.status).toBe('cancelled')
})

test('a build continues if its base template is deleted', async () => {
  const server = await setUp()
  const { image_digest } = await ended(server, (await build(server)).json.build_id)
  const { promise: go, resolve } = Promise.withResolvers<void>()
  server.builder.script = async ({ host }) => {
    const base = await host.findTemplate('app')
    await go
    const { runtime } = await startStep(host, base.imageDigest)
    await runtime[Symbol.asyncDispose]()
    return { imageDigest: base.imageDigest }
  }
  const { build_id } = (await build(server, { name: 'two', dockerfile: undefined, from_template: 'app' })).json
  await until(() => server.builder.runs.length === 2)
  expect((await server.ask('DELETE', `${templates}/app`)).status).toBe(204)
  resolve()
  expect(await ended(server, build_id)).toMatchObject({ status: 'ready', image_digest })
  const id = await server.makeRuntime({ template: 'two' })
  expect((await server.engine.inspect(id))?.spec.imageDigest).toBe(image_digest)
})

test('a stop of the service fails running and queued builds, with the reason', async () => {
  const server = await setUp()
  server.builder.script = async (run) => {
    await makeThings(run, 'building')
    return untilStopped(run)
  }
  const first = (await build(server)).json.build_id
  const second = (await build(server, { dockerfile: 'FROM two' })).json.build_id
  await until(() => hasMadeThings(server))
  const again = await server.restart()
  for (const id of [first, second]) {
    expect((await again.ask('GET', `${builds}/${id}`)).json).toMatchObject({
      status: 'failed',
      reason: {
        code: 'internal',
        message: 'The service stopped during this build.',
        hint: expect.stringContaining('again'),
      },
    })
  }
  expect((await again.ask('GET', `${templates}/app`)).json).toMatchObject({
    state: 'failed',
    state_reason: { code: 'internal' },
  })
  await until(async () => JSON.stringify(await residue(server)) === JSON.stringify(clean))
})

test.each(['queued', ...running] as const)(
  'a service that was killed while a build was %s cleans up',
  async (status) => {
    const server = await setUp()
    const buildId = makeId('build')
    const { image_digest: imageDigest } = (await server.ask('GET', `${templates}/base-small`)).json
    await server.close()
    await leaveKilledBuild(server, { buildId, status, imageDigest })
    const again = await server.restart()
    expect((await again.ask('GET', `${builds}/${buildId}`)).json).toMatchObject({
      status: 'failed',
      reason: { code: 'internal' },
      steps: [{ state: 'done' }, { state: 'failed' }, { state: 'skipped' }],
    })
    expect((await again.ask('GET', `${templates}/app`)).json.state).toBe('failed')
    await until(async () => JSON.stringify(await residue(server)) === JSON.stringify(clean))
    for (const dir of ['contexts', 'mounts'])
      await until(() => readdirSync(join(server.stateDir, 'builds', dir)).length === 0)
    expect(again.logged.filter(({ message }) => message.includes('does not know'))).toEqual([])
  },
)

test('steps wait for memory instead of failing', async () => {
  let free = 100
  const server = await setUp({ freeMemoryMiB: async () => free })
  server.builder.script = async ({ host }) => {
    const image = await importImage(host, 'x')
    const { runtime } = await startStep(host, image)
    await runtime[Symbol.asyncDispose]()
    return { imageDigest: image }
  }
  const { build_id } = (await build(server)).json
  const log = async () => (await server.ask('GET', `${builds}/${build_id}/logs`)).text
  await until(async () => (await log()).includes('waiting until the host has memory'))
  free = 100_000
  expect((await ended(server, build_id)).status).toBe('ready')
})

test('the memory of build steps counts against runtimes', async () => {
  const server = await setUp({ engine: new FakeEngine({ facts: { memoryMiB: 4096 } }) })
  const { promise: go, resolve } = Promise.withResolvers<void>()
  server.builder.script = async ({ host }) => {
    const all = await Promise.all(Array.from({ length: 27 }, () => host.newRuntime()))
    await go
    for (const one of all) await one[Symbol.asyncDispose]()
    return undefined
  }
  const { build_id } = (await build(server)).json
  const create = () => server.ask('POST', '/v1/agents/runtime', { json: { memory: '3GiB' } })
  await until(async () => {
    const { status, json } = await create()
    if (status === 201) await server.ask('DELETE', `/v1/agents/runtime/${json.runtime_id}`)
    return status === 503
  })
  resolve()
  await ended(server, build_id)
  expect((await create()).status).toBe(201)
})

test('the secrets of a request are in no file, answer or log line', async () => {
  const server = await setUp()
  const secrets = ['correct-horse-battery', 'first line of it\nsecond line of it', 'registry-pass-word']
  server.builder.script = async ({ host, request }) => {
    const image = await importImage(host, 'x')
    for (const value of [...Object.values(request.buildSecrets), request.registryAuth?.password ?? ''])
      host.report.log({ level: 'info', step: 1, message: `it is ${value}, you see\n` })
    host.report.log({ level: 'info', step: 1, message: 'only the second line of it here' })
    host.report.steps([
      { step: 1, text: `RUN ${secrets[0]}`, stage: null, line: 1, state: 'running', duration_ms: null },
    ])
    await startStep(host, image)
    throw new BuildError('step_failed', `failed: ${secrets[0]}`, { details: { output: [`x ${secrets[2]}`] } })
  }
  const asked = {
    build_secrets: { a: secrets[0], b: secrets[1] },
    registry_auth: { username: 'u', password: secrets[2] },
  }
  const json = { name: 'app', dockerfile: 'FROM scratch', ...asked }
  const { build_id } = (await server.ask('POST', builds, { json, headers: { 'idempotency-key': 'k' } })).json
  const answer = JSON.stringify(await ended(server, build_id))
  const lines = (await server.ask('GET', `${builds}/${build_id}/logs`)).text
  expect(lines).toContain('it is ***, you see')
  expect(lines).toContain('only the *** here')
  const stored = (await storedBytes(server.stateDir)).toString('latin1')
  const needles = [secrets[0], 'first line of it', 'second line of it', secrets[2]] as string[]
  const digests = needles.map((needle) => createHash('sha256').update(needle).digest('hex'))
  for (const text of [
    answer,
    lines,
    stored,
    JSON.stringify(server.logged.map(({ facts, message }) => [String(facts.err), message])),
  ])
    for (const needle of [...needles, ...digests]) expect(text.includes(needle)).toBe(false)
})
