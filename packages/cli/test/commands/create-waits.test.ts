import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holt, Template } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { endOf, runHolt, startHolt } from '../support/run-holt.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

/** The next create is refused, because this build of its template is under way. */
async function beingBuilt(): Promise<string> {
  const holt = new Holt({ url: service.url, apiKey: service.key })
  const { build_id } = await Template('web').fromImage('python').build({ holt })
  const details = { template_state: 'building', build_id }
  service.faults.push({ route: 'createRuntime', type: 'refuse', code: 'unavailable', details })
  return build_id
}

test('run and create show the build of their template, and continue when it is ready', async () => {
  service.script = (build) => {
    build.log('npm has installed it')
    build.succeed()
  }
  await beingBuilt()
  const ran = await runHolt(['run', '-t', 'web', '--', 'echo', 'out'], { service })
  expect(ran).toMatchObject({ code: 0, stdout: 'out\n' })
  expect(ran.stderr).toContain('the template web is built first')
  expect(ran.stderr).toContain('npm has installed it')
  await beingBuilt()
  const created = await runHolt(['create', '-t', 'web'], { service })
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^rt\w+\n$/) })
  expect(created.stderr).toContain('the template web is built first')
})

test('run and create report why the build failed', async () => {
  service.script = (build) => {
    build.log('npm ERR! 404')
    build.fail('step_failed', 'npm exited with 1')
  }
  for (const [args, code] of [
    [['run', '-t', 'web', '--', 'true'], 125],
    [['create', '-t', 'web'], 1],
  ] as const) {
    const id = await beingBuilt()
    const ended = await runHolt(args, { service })
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toContain('npm ERR! 404')
    expect(ended.stderr).toContain('step_failed: npm exited with 1')
    expect(ended.stderr).toContain(`holt template logs ${id}`)
  }
  expect(service.runtimes.size).toBe(0)
})

/** The next create is refused for its template, and to be sent again after some seconds. */
function refuseCreate(templateState: string, retryAfterSecs: number): void {
  service.faults.push({
    route: 'createRuntime',
    type: 'refuse',
    code: 'unavailable',
    headers: { 'retry-after': String(retryAfterSecs) },
    details: { template_state: templateState },
  })
}

test('run fails at once if its template has failed', async () => {
  refuseCreate('failed', 60)
  expect(await runHolt(['run', '--', 'true'], { service })).toMatchObject({ code: 125, stdout: '' })
  expect(service.count('createRuntime')).toBe(1)
})

test('run says what it waits for', async () => {
  refuseCreate('pending', 1)
  const { code, stderr } = await runHolt(['run', '--', 'true'], { service })
  expect(code).toBe(0)
  expect(stderr).toMatch(/^holt: .+ Trying again in 1 s, at most 3 times\n/)
})

test('run says how often it tries again, and gives up after the last time', async () => {
  for (let count = 0; count < 4; count++) refuseCreate('pending', 1)
  const { code, stderr } = await runHolt(['run', '--', 'true'], { service })
  expect(code).toBe(125)
  expect([...stderr.matchAll(/Trying again in 1 s, (.+)\n/g)].map(([, times]) => times)).toEqual([
    'at most 3 times',
    'at most 2 times',
    'for the last time',
  ])
  expect(service.count('createRuntime')).toBe(4)
})

test('run says early that the service does not answer', async () => {
  service.faults.push({ route: 'createRuntime', type: 'hang' })
  const child = startHolt(['run', '--', 'true'], { service })
  for await (const text of child.stderr.setEncoding('utf8')) {
    expect(text).toBe(`holt: no answer from Holt at ${service.url} yet; check it: holt status\n`)
    break
  }
  child.kill()
})

test('Ctrl-C ends the wait and leaves the build', async () => {
  service.script = (build) => build.status('building')
  const id = await beingBuilt()
  const child = startHolt(['run', '-t', 'web', '--', 'true'], { service })
  child.stderr.on('data', (text: Buffer) => {
    if (text.includes('built first')) child.kill('SIGINT')
  })
  const ended = await endOf(child)
  expect(ended).toMatchObject({ code: 130, stdout: '' })
  expect(ended.stderr).toContain(`the build continues: holt template logs -f ${id}`)
  expect(service.count('cancelBuild')).toBe(0)
  expect(service.runtimes.size).toBe(0)
})
