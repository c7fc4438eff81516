import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BuildLogLine, type BuildStatus, Holt, Template } from '../../src/index.ts'
import type { TestBuild } from '../support/test-build.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
let holt: Holt
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key, resumeTimeoutSecs: 30 })
})
afterEach(() => service.close())

const template = Template('web').fromImage('python')
const only = (): TestBuild => [...service.builds.values()][0] as TestBuild
/** Lets the client ask at least once more, so that it sees a state before the next. */
async function asked(): Promise<void> {
  const before = service.count('getBuild')
  while (service.count('getBuild') < before + 2) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('waits through every status and returns the build, with each line of the log', async () => {
  service.script = async (build) => {
    for (const status of ['pulling', 'building', 'exporting', 'snapshotting'] as const) {
      build.status(status)
      build.log(`now ${status}`)
      await asked()
    }
    build.log('done')
    build.succeed()
  }
  const seen: BuildStatus[] = []
  const lines: BuildLogLine[] = []
  const build = await template.buildAndWait({
    holt,
    onLog: (line) => lines.push(line),
    onStatus: ({ status }) => seen.push(status),
  })
  expect(build).toMatchObject({ status: 'ready', name: 'web', size_bytes: 123_000_000 })
  expect(build.toJSON()).toEqual(only().data)
  expect(seen).toEqual(['pulling', 'building', 'exporting', 'snapshotting', 'ready'])
  expect(lines.map(({ message }) => message)).toEqual([
    'now pulling',
    'now building',
    'now exporting',
    'now snapshotting',
    'done',
  ])
  expect(await holt.templates.get('web:latest')).toMatchObject({ kind: 'custom', build_id: build.build_id })
  expect((await holt.runtimes.create({ template: build.template_id })).template.name).toBe('web')
})

describe('a build that does not become a template', () => {
  test('fails with its code, step, message, hint and details', async () => {
    service.script = (build) => {
      build.log('E: no space')
      build.fail('disk_too_small', 'The disk is full', {
        step: 3,
        hint: 'Raise disk.',
        details: { required_mib: 6000 },
      })
    }
    await expect(template.buildAndWait({ holt })).rejects.toMatchObject({
      name: 'BuildFailed',
      code: 'build_failed',
      reason: 'disk_too_small',
      step: 3,
      message: 'The disk is full',
      hint: 'Raise disk.',
      details: { required_mib: 6000 },
      build: { name: 'web', status: 'failed' },
    })
  })

  test('is cancelled', async () => {
    service.script = () => undefined
    const build = await template.build({ holt })
    const waiting = build.wait()
    await build.cancel()
    await expect(waiting).rejects.toMatchObject({ name: 'BuildFailed', reason: 'cancelled', step: null })
    expect(build.status).toBe('cancelled')
  })
})

describe('a cancelled wait leaves the build running', () => {
  beforeEach(() => {
    service.script = (build) => build.status('building')
  })

  test('after a time', async () => {
    await expect(template.buildAndWait({ holt, timeoutSecs: 0.2, onLog: () => undefined })).rejects.toMatchObject({
      code: 'timeout',
      details: { build_id: expect.stringMatching(/^bd/) },
    })
    expect(only().data.status).toBe('building')
  })

  test('by a signal, with its reason', async () => {
    const stop = new AbortController()
    const reason = new Error('enough')
    const waiting = template.buildAndWait({ holt, signal: stop.signal, onStatus: () => stop.abort(reason) })
    await expect(waiting).rejects.toBe(reason)
    expect(only().data.status).toBe('building')
  })
})

test('a log that breaks off continues after its last line, and lost lines are reported', async () => {
  service.script = (build) => {
    build.gap(7)
    for (let index = 0; index < 5; index++) build.log(`line ${index}`)
    build.succeed()
  }
  service.faults.push({ route: 'readBuildLogs', type: 'cut', items: 3 })
  const lines: string[] = []
  await template.buildAndWait({ holt, onLog: ({ level, message }) => lines.push(`${level} ${message}`) })
  expect(lines).toEqual([
    'warn 7 lines of the log are no longer kept',
    ...[0, 1, 2, 3, 4].map((index) => `info line ${index}`),
  ])
  expect(service.count('readBuildLogs')).toBe(2)
})

test('the wait continues while the service is absent for a short time', async () => {
  service.script = (build) => build.status('building')
  const build = await template.build({ holt: new Holt({ url: service.url, apiKey: service.key, maxRetries: 0 }) })
  for (let index = 0; index < 3; index++) service.faults.push({ route: 'getBuild', type: 'refuse' })
  const waiting = build.wait()
  while (service.faults.length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  only().succeed()
  expect(await waiting).toMatchObject({ status: 'ready' })
})

test('the log of a running build is read up to its present end', async () => {
  service.script = (build) => {
    build.status('building')
    build.log('one')
    build.log('two')
  }
  const build = await template.build({ holt })
  const lines = await Array.fromAsync(build.logs({ follow: false }))
  expect(lines.map((item) => (item.type === 'log' ? item.message : item.type))).toEqual(['one', 'two'])
  expect(service.count('readBuildLogs')).toBe(1)
})

test('builds are listed and read; templates are filtered, deleted and checked', async () => {
  await template.buildAndWait({ holt })
  await Template('api').fromImage('node').buildAndWait({ holt })
  expect((await holt.builds.list().all()).map(({ name }) => name)).toEqual(['api', 'web'])
  expect((await holt.builds.list({ name: 'web' }).all()).map(({ name }) => name)).toEqual(['web'])
  const build = await holt.builds.get(only().data.build_id)
  expect((await Array.fromAsync(build.logs({ follow: false }))).map(({ type }) => type)).toEqual(['end'])
  expect((await holt.templates.list({ kind: 'custom' }).all()).map(({ name }) => name)).toEqual(['web', 'api'])
  await holt.templates.delete('web:latest')
  await expect(holt.templates.get('web')).rejects.toMatchObject({ code: 'template_not_found' })
  await expect(holt.builds.get('bdnone')).rejects.toMatchObject({ code: 'build_not_found' })
  const check = await holt.templates.check({ dockerfile: 'FROM python\nCMD x' })
  expect(check).toMatchObject({
    ok: true,
    images: ['python'],
    lines: [{ verdict: 'supported' }, { verdict: 'ignored' }],
  })
})

test('an agent template is pulled', async () => {
  service.template = { ...service.template, name: 'codex', kind: 'agent', state: 'unbuilt' }
  expect(await (await holt.builds.pull('codex')).wait()).toMatchObject({ name: 'codex', status: 'ready' })
  await expect(holt.builds.pull('web')).rejects.toMatchObject({ code: 'template_not_found' })
})

test('a build with a lost answer is repeated with the same key', async () => {
  service.faults.push({ route: 'createBuild', type: 'refuse', code: 'unavailable' })
  await template.build({ holt })
  const keys = service.calls
    .filter(({ route }) => route === 'createBuild')
    .map((call) => call.headers['idempotency-key'])
  expect(keys).toEqual([keys[0], keys[0]])
  expect(keys[0]).toEqual(expect.any(String))
})

test('the request of a build is read without its secrets', async () => {
  service.script = (build) => build.succeed()
  const build = await template.startCmd('serve').buildSecret('token', 'hunter22').build({ holt })
  expect(await build.request()).toEqual({
    request: expect.objectContaining({ name: 'web', from_image: 'python', start_cmd: 'serve' }),
    build_secrets: ['token'],
    registry_user: null,
  })
})
