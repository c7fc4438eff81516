import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { runHolt } from '../support/run-holt.ts'

let service: TestService
let holt: Holt
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key })
})
afterEach(() => service.close())

test('create prints the id alone on stdout', async () => {
  const ended = await runHolt(['create', '-n', 'mine'], { service })
  expect(ended.code).toBe(0)
  expect(ended.stdout).toBe(`${[...service.runtimes.keys()][0]}\n`)
  expect(ended.stderr).toBe('Running: base-small, gvisor, 1 vCPU, 1 GiB memory, 4 GiB disk\n')
})

describe('ls', () => {
  test('is a plain table without colours when piped', async () => {
    const { runtime_id } = await holt.runtimes.create({ name: 'mine' })
    const { stdout } = await runHolt(['ls'], { service })
    expect(stdout).toMatch(/^RUNTIME +NAME +STATE +TEMPLATE +ISOLATION +CPU +MEMORY +AGE +NEXT\n/)
    expect(stdout).toMatch(new RegExp(`\n${runtime_id} +mine +running +base-small +gvisor +1 +1 GiB +\\d+s +-\n$`))
    expect(stdout).not.toContain('\u001b')
  })

  test('leaves out what has ended, unless asked', async () => {
    await (await holt.runtimes.create({ name: 'gone' })).delete()
    expect(await runHolt(['ls'], { service })).toMatchObject({ stdout: '', stderr: expect.stringContaining('--all') })
    expect((await runHolt(['ls', '-a'], { service })).stdout).toContain('gone')
    expect((await runHolt(['ls', '--state', 'terminated', '-q'], { service })).stdout).toMatch(/^rt\w{20}\n$/)
  })

  test('prints the API list as JSON, filtered', async () => {
    await holt.runtimes.create({ name: 'a', metadata: { team: 'x' } })
    await holt.runtimes.create({ name: 'b', metadata: { team: 'y' } })
    const { stdout } = await runHolt(['ls', '--json', '-m', 'team=y'], { service })
    expect(JSON.parse(stdout)).toMatchObject({ data: [{ name: 'b', memory_mib: 1024 }], next_cursor: null })
  })
})

describe('a runtime is named', () => {
  test.each([
    ['by name', () => 'mine'],
    ['by id', (id: string) => id],
    ['by the beginning of its id', (id: string) => id.slice(0, 8)],
  ])('%s', async (_, nameOf) => {
    const { runtime_id } = await holt.runtimes.create({ name: 'mine' })
    const { stdout, code } = await runHolt(['get', nameOf(runtime_id), '--json'], { service })
    expect(code).toBe(0)
    expect(JSON.parse(stdout).runtime_id).toBe(runtime_id)
  })

  test('not by a beginning that several have', async () => {
    await holt.runtimes.create()
    await holt.runtimes.create()
    expect(await runHolt(['get', 'rt'], { service })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('beginning of 2 ids'),
    })
  })

  test('not by a name that nothing has', async () => {
    expect(await runHolt(['get', 'nobody'], { service })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: No runtime is named nobody.*\nhint: /),
    })
  })
})

test('rm deletes several, goes on after one that is not there, and fails', async () => {
  const { runtime_id } = await holt.runtimes.create({ name: 'one' })
  await holt.runtimes.create({ name: 'two' })
  const ended = await runHolt(['rm', 'one', 'nobody', 'two'], { service })
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain(`Deleted one (${runtime_id})`)
  expect([...service.runtimes.values()].map(({ state }) => state)).toEqual(['terminated', 'terminated'])
})

describe('commands', () => {
  test('exec passes through output and exit code', async () => {
    await holt.runtimes.create({ name: 'mine' })
    expect(await runHolt(['exec', 'mine', '--', 'sh', '-c', 'echo hi; exit 5'], { service })).toEqual({
      code: 5,
      stdout: 'hi\n',
      stderr: '',
    })
    expect(await runHolt(['exec', '-e', 'X=1', 'mine', 'printenv', 'X'], { service })).toMatchObject({
      code: 0,
      stdout: '1\n',
    })
  })

  test('exec in the background prints the id, ps lists it, logs shows it', async () => {
    await holt.runtimes.create({ name: 'mine' })
    const started = await runHolt(['exec', 'mine', '-d', '--', 'sh', '-c', 'echo out; echo err >&2'], { service })
    expect(started.stdout).toMatch(/^cm\w{20}\n$/)
    const commandId = started.stdout.trim()
    expect(await runHolt(['logs', 'mine', commandId.slice(0, 9), '-f'], { service })).toEqual({
      code: 0,
      stdout: 'out\n',
      stderr: 'err\n',
    })
    expect((await runHolt(['ps', 'mine'], { service })).stdout).toMatch(new RegExp(`\n${commandId} .*exited +0 `))
    const items = (await runHolt(['logs', 'mine', '--json'], { service })).stdout.trim().split('\n')
    expect(items.map((line) => JSON.parse(line).type)).toEqual(
      expect.arrayContaining(['start', 'stdout', 'stderr', 'exit', 'end']),
    )
  })

  test('exec exits 125 when the runtime is not there', async () => {
    expect((await runHolt(['exec', 'nobody', '--', 'true'], { service })).code).toBe(125)
  })
})

test('keys are made, listed and revoked', async () => {
  const made = await runHolt(['key', 'create', 'ci', '--scope', 'runtime:read', 'template:read'], { service })
  expect(made).toMatchObject({ code: 0, stdout: 'holt_secret\n', stderr: expect.stringContaining('shown this once') })
  const [keyId = ''] = service.keys.keys()
  expect(service.keys.get(keyId)).toMatchObject({ scopes: ['runtime:read', 'template:read'] })
  expect((await runHolt(['key', 'ls'], { service })).stdout).toContain('runtime:read,template:read')
  expect(await runHolt(['key', 'rm', keyId], { service })).toMatchObject({ code: 0 })
  expect(service.keys.size).toBe(0)
})

test('templates are listed and shown', async () => {
  expect((await runHolt(['template', 'ls'], { service })).stdout).toContain('base-small')
  expect(JSON.parse((await runHolt(['template', 'get', 'base-small', '--json'], { service })).stdout)).toMatchObject({
    name: 'base-small',
  })
})
