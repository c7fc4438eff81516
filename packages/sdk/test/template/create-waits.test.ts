import { afterEach, beforeEach, expect, test } from 'vitest'
import { BuildFailed, type BuildHandle, type BuildStatus, Holt, Template } from '../../src/index.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
let holt: Holt
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key, maxRetries: 3 })
})
afterEach(() => service.close())

/** A service that refuses the next creates, because this build of their template is under way. */
async function beingBuilt(times = 1): Promise<BuildHandle> {
  const build = await Template('web').fromImage('python').build({ holt })
  const refusal = {
    route: 'createRuntime',
    type: 'refuse',
    code: 'unavailable',
    headers: { 'retry-after': '5' },
    details: { template_state: 'building', build_id: build.build_id, retry_after_secs: 5 },
  } as const
  for (let time = 0; time < times; time += 1) service.faults.push(refusal)
  return build
}

test('a create waits for the build of its template, and is then repeated with the same key', async () => {
  const ends = Promise.withResolvers<undefined>()
  service.script = async (build) => {
    build.status('building')
    build.log('it is built')
    await ends.promise
    build.succeed()
  }
  await beingBuilt()
  const seen: BuildStatus[] = []
  const lines: string[] = []
  const runtime = await holt.runtimes.create(
    { template: 'web' },
    {
      building: {
        onStatus: ({ status }) => {
          seen.push(status)
          ends.resolve(undefined)
        },
        onLog: ({ message }) => lines.push(message),
      },
    },
  )
  expect(runtime).toMatchObject({ state: 'running', template: { name: 'web' } })
  expect(seen).toEqual(['building', 'ready'])
  expect(lines).toEqual(['it is built'])
  const keys = service.calls.flatMap(({ route, headers }) =>
    route === 'createRuntime' ? [headers['idempotency-key']] : [],
  )
  expect(keys).toEqual([keys[0], keys[0]])
})

test('a failed build fails the create', async () => {
  service.script = (build) => build.fail('step_failed', 'npm exited with 1', { step: 2 })
  await beingBuilt()
  const failure = await holt.runtimes.create({ template: 'web' }).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(BuildFailed)
  expect(failure).toMatchObject({ code: 'build_failed', reason: 'step_failed', step: 2 })
  expect(service.count('createRuntime')).toBe(1)
})

test('a cancelled create leaves the build running', async () => {
  service.script = (build) => build.status('building')
  await beingBuilt()
  const stop = new AbortController()
  const created = holt.runtimes.create(
    { template: 'web' },
    { signal: stop.signal, building: { onStatus: () => stop.abort(new Error('enough')) } },
  )
  await expect(created).rejects.toThrow('enough')
  expect(service.count('cancelBuild')).toBe(0)
})

test('a template that is always being built is not waited for for ever', async () => {
  await beingBuilt(100)
  await expect(holt.runtimes.create({ template: 'web' })).rejects.toMatchObject({ code: 'unavailable' })
  expect(service.count('createRuntime')).toBeLessThan(10)
})
