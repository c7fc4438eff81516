import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt, type Runtime } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { fakeBrowser } from '../support/fake-browser.ts'
import { endOf, runHolt, startHolt } from '../support/run-holt.ts'

let service: TestService
let runtime: Runtime
beforeEach(async () => {
  service = await startTestService()
  service.listening.add(3000)
  runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
})
afterEach(() => service.close())

test('prints an address that works alone, and only that on stdout', async () => {
  expect(await runHolt(['port', 'mine', '3000'], { service })).toEqual({
    code: 0,
    stdout: `http://3000-${runtime.runtime_id}.localhost:1/?holt_token=token-0\n`,
    stderr: '',
  })
  expect((await runHolt(['port', 'mine', '3000', '--public'], { service })).stdout).toBe(
    `http://3000-${runtime.runtime_id}.localhost:1/\n`,
  )
  const path = `${service.url}/v1/agents/runtime/${runtime.runtime_id}/ports/3000/proxy/`
  expect((await runHolt(['port', 'mine', '3000', '--path'], { service })).stdout).toBe(`${path}\n`)
  expect((await runHolt(['port', 'mine', '3000', '--path', '--private'], { service })).stdout).toBe(
    `${path}?holt_token=token-0\n`,
  )
  expect((await runHolt(['port', 'mine', '3000', '--private', '--rotate'], { service })).stdout).toContain('token-1')
})

test('opens an address that works once, because other users see the arguments of a program', async () => {
  const browser = await fakeBrowser()
  const env = { HOLT_URL: service.url, HOLT_API_KEY: service.key, PATH: browser.path }
  const ended = await runHolt(['port', 'mine', '3000', '--open'], { env })
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('holt_token=token-0') })
  expect(await browser.opened()).toBe(`http://3000-${runtime.runtime_id}.localhost:1/?holt_token=once-0`)
})

test('says when no server listens, and fails after a wait', async () => {
  const ended = await runHolt(['port', 'mine', '4000'], { service })
  expect(ended).toMatchObject({ code: 0, stderr: 'Nothing listens on port 4000 yet.\n' })
  expect((await runHolt(['port', 'mine', '4000', '--wait', '0.1'], { service })).code).toBe(1)
  expect((await runHolt(['port', 'mine', '3000', '--wait', '0.1'], { service })).code).toBe(0)
})

test('lists ports with servers, and prints JSON', async () => {
  expect((await runHolt(['port', 'mine'], { service })).stdout).toMatch(
    /^PORT +ACCESS +LISTENING\n3000 +private +yes\n$/,
  )
  expect(JSON.parse((await runHolt(['port', 'mine', '--json'], { service })).stdout)).toEqual({
    data: [{ port: 3000, public: false, listening: true }],
  })
  expect(JSON.parse((await runHolt(['port', 'mine', '3000', '--json'], { service })).stdout)).toMatchObject({
    port: 3000,
    token: 'token-0',
  })
})

describe('wrong usage exits 2', () => {
  test.each([
    [['mine', '0'], 'It must be a port'],
    [['mine', '03000'], 'It must be a port'],
    [['mine', '3000', '--public', '--private'], 'Give one of --public and --private'],
    [['mine', '--rotate'], '--rotate needs a port'],
    [['mine', '--path'], '--path needs a port'],
    [['mine', '--forward', 'x'], 'It must be LOCAL:PORT'],
    [['mine', '--forward', '1:70000'], 'It must be a port'],
  ])('%j', async (args, told) => {
    const ended = await runHolt(['port', ...args], { service })
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toContain(told)
  })
})

test('forwards until Ctrl-C, which ends it like any command', async () => {
  const child = startHolt(['port', 'mine', '--forward', '0:3000'], { service })
  const ended = endOf(child)
  await new Promise((resolve) => child.stdout.once('data', resolve))
  child.kill('SIGINT')
  expect((await ended).code).toBe(130)
})

test('forwards until it is stopped by a signal', async () => {
  const child = startHolt(['port', 'mine', '--forward', '0:3000'], { service })
  const ended = endOf(child)
  const address = await new Promise<string>((resolve) => child.stdout.once('data', (data) => resolve(String(data))))
  expect(address).toMatch(/^127\.0\.0\.1:\d+\n$/)
  child.kill('SIGTERM')
  expect(await ended).toMatchObject({ code: 0, stderr: expect.stringContaining('to port 3000 of mine') })
})
