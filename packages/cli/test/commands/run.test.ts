import { execFile, spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { endOf, holtArgv, runHolt, startHolt } from '../support/run-holt.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

const states = () => [...service.runtimes.values()].map((runtime) => runtime.state)

describe('run', () => {
  test('passes through output and exit code, and deletes the runtime', async () => {
    const ended = await runHolt(['run', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7'], { service })
    expect(ended).toEqual({ code: 7, stdout: 'out\n', stderr: 'err\n' })
    expect(states()).toEqual(['terminated'])
  })

  test('works without -- and passes options to the command', async () => {
    expect(await runHolt(['run', 'printf', '%s', '--json'], { service })).toMatchObject({ code: 0, stdout: '--json' })
  })

  test('takes its own options before --', async () => {
    const args = [
      'run',
      '--memory',
      '2',
      '--cpu',
      '0.5',
      '-e',
      'A=1',
      '-e',
      'B',
      '-n',
      'mine',
      '--isolation',
      'container',
      '--',
      'true',
    ]
    await runHolt(args, { service, env: { B: '2' } })
    const body = service.calls.find((call) => call.route === 'createRuntime')?.body
    expect(body).toMatchObject({
      memory: 2048,
      cpu: 0.5,
      env: { A: '1', B: '2' },
      name: 'mine',
      isolation: 'container',
    })
  })

  test('binary output is unchanged', async () => {
    const { stdout } = await promisify(execFile)(
      holtArgv[0],
      [...holtArgv.slice(1), 'run', '--', 'printf', '\\377\\000\\001'],
      {
        env: { PATH: process.env.PATH, HOLT_URL: service.url, HOLT_API_KEY: service.key },
        encoding: 'buffer',
      },
    )
    expect(stdout).toEqual(Buffer.from([255, 0, 1]))
  })

  test('piped stdin is passed on', async () => {
    const input = Buffer.alloc(700_000, 'x')
    expect(await runHolt(['run', '--', 'wc', '-c'], { service, input })).toMatchObject({ code: 0, stdout: '700000\n' })
  })

  test('a command that does not read its stdin ends normally', async () => {
    expect(await runHolt(['run', '--', 'true'], { service, input: Buffer.alloc(700_000) })).toMatchObject({
      code: 0,
      stderr: '',
    })
  })

  test('an open stdin does not delay it', async () => {
    const child = startHolt(['run', '--', 'echo', 'done'], { service })
    expect(await endOf(child)).toMatchObject({ code: 0, stdout: 'done\n' })
  })

  test('/dev/null is not passed on', async () => {
    const child = spawn(holtArgv[0], [...holtArgv.slice(1), 'run', '--', 'true'], {
      env: { PATH: process.env.PATH, HOLT_URL: service.url, HOLT_API_KEY: service.key },
      stdio: [openSync('/dev/null', 'r'), 'ignore', 'ignore'],
    })
    await new Promise((resolve) => child.on('close', resolve))
    expect(service.calls.find((call) => call.route === 'startCommand')?.body).toMatchObject({ stdin: false })
  })

  test.each([
    ['comes with its end', true, 0],
    ['is read from an older service', false, 1],
  ])('the start of a failed command %s', async (_, tellsEnd, reads) => {
    await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
    service.tellsEnd = tellsEnd
    const child = spawn(holtArgv[0], [...holtArgv.slice(1), 'exec', 'mine', '--', 'false'], {
      env: { PATH: process.env.PATH, HOLT_URL: service.url, HOLT_API_KEY: service.key },
      stdio: [openSync('/dev/null', 'r'), 'ignore', 'ignore'],
    })
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(1)
    expect(service.count('getCommand')).toBe(reads)
  })

  test('exits with 124 when the command times out', async () => {
    const ended = await runHolt(['run', '--timeout', '0.2', '--', 'sleep', '60'], { service })
    expect(ended.code).toBe(124)
    expect(ended.stderr).toContain('longer than its time limit')
    expect(states()).toEqual(['terminated'])
  })

  test.each([
    ['program_not_found', 127],
    ['program_not_executable', 126],
    ['something_else', 125],
  ])('exits like a shell for %s: %i', async (reason, code) => {
    service.faults.push({ route: 'startCommand', type: 'refuse', code: 'invalid_request', details: { reason } })
    const ended = await runHolt(['run', '--', 'no-such-program'], { service })
    expect(ended.code).toBe(code)
    expect(ended.stderr).toContain('error: A fault of the test')
  })

  test.each([
    [['run', '--', 'echo hi && id'], 'holt run -- sh -c'],
    [['exec', 'mine', '--', 'echo hi && id'], 'holt exec mine -- sh -c'],
    [['run', '--', 'no-such-program'], null],
    [['run', '--', 'no such program', 'argument'], null],
  ])('%j: one argument with spaces, like a shell line, gets a hint', async (args, hint) => {
    await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
    const details = { reason: 'program_not_found' }
    service.faults.push({ route: 'startCommand', type: 'refuse', code: 'invalid_request', details })
    const ended = await runHolt(args, { service })
    expect(ended.code).toBe(127)
    if (hint === null) expect(ended.stderr).not.toContain('sh -c')
    else expect(ended.stderr).toContain(`hint: It has spaces. To run a shell line: ${hint} '...'`)
  })

  test.each([['-t'], ['-it']])('exec %s needs a local terminal, and starts nothing without one', async (flags) => {
    await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
    const ended = await runHolt(['exec', flags, 'mine', 'sh'], { service })
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('holt exec mine -- COMMAND') })
    expect(service.calls.filter(({ route }) => route === 'startCommand')).toEqual([])
  })

  test('passes limits on', async () => {
    const ulimits = ['--ulimit', 'nofile=64', '--ulimit', 'cpu=1:unlimited', '--ulimit', 'nofile=32']
    await runHolt(['run', ...ulimits, '--', 'true'], { service })
    expect(service.calls.find((call) => call.route === 'startCommand')?.body).toMatchObject({
      rlimits: { nofile: { soft: 32, hard: 32 }, cpu: { soft: 1, hard: 'unlimited' } },
    })
    for (const wrong of ['files=1', 'nofile', 'nofile=', 'nofile=x', 'nofile=1:', 'nofile=1:2:3', 'cpu=-1']) {
      const ended = await runHolt(['run', '--ulimit', wrong, '--', 'true'], { service })
      expect([wrong, ended.code]).toEqual([wrong, 2])
    }
  })

  test('exits with 125, a hint and the request id if Holt itself fails', async () => {
    const ended = await runHolt(['run', '-t', 'nothing', '--', 'true'], { service })
    expect(ended.code).toBe(125)
    expect(ended.stderr).toMatch(/^error: No template nothing\nhint: .*\nrequest: rq0+\n$/)
  })

  test('exits with 125 without a service', async () => {
    const ended = await runHolt(['run', '--', 'true'], { env: { HOLT_URL: 'http://127.0.0.1:2', HOLT_API_KEY: 'x' } })
    expect(ended.code).toBe(125)
    expect(ended.stderr).toMatch(
      /^error: Holt at http:\/\/127\.0\.0\.1:2 cannot be reached.*\nhint: Start the service: holt up\n$/,
    )
  })

  test('names every wrong field', async () => {
    const ended = await runHolt(['run', '--cpu', '0', '-n', 'NO', '--', 'true'], { service })
    expect(ended.code).toBe(125)
    expect(ended.stderr).toMatch(/^error: The request is not valid:\n {2}--name: .*\n {2}--cpu: .*\nrequest: /)
  })

  test('keeps the runtime with --no-rm and says which', async () => {
    const ended = await runHolt(['run', '--no-rm', '-n', 'mine', '--', 'true'], { service })
    expect(ended).toMatchObject({ code: 0, stderr: 'holt: kept the runtime mine\n' })
    expect(states()).toEqual(['running'])
  })

  test('prints the result of the API with --json, and still exits with the exit code', async () => {
    const ended = await runHolt(['run', '--json', '--', 'sh', '-c', 'echo hi; exit 3'], { service })
    expect(ended.code).toBe(3)
    expect(JSON.parse(ended.stdout)).toMatchObject({ stdout: 'hi\n', exit_code: 3, timed_out: false })
  })

  test('continues after a break of the connection', async () => {
    service.faults.push({ route: 'startCommand', type: 'cut', items: 2 })
    const ended = await runHolt(['run', '--', 'sh', '-c', 'echo one; sleep 0.1; echo two'], { service })
    expect(ended).toMatchObject({ code: 0, stdout: 'one\ntwo\n' })
  })
})

describe('in a session', () => {
  beforeEach(async () => {
    await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
  })

  test('one argument is a shell line, several are a command', async () => {
    await runHolt(['exec', '--session', 'dev', 'mine', '--', 'true; true'], { service })
    await runHolt(['exec', '--session', 'dev', '--json', 'mine', '--', 'printf', 'a b'], { service })
    await runHolt(['exec', 'mine', '--', 'true'], { service })
    const bodies = service.calls.filter(({ route }) => route === 'startCommand').map(({ body }) => body)
    expect(bodies).toMatchObject([
      { command: 'true; true', session: 'dev' },
      { argv: ['printf', 'a b'], session: 'dev' },
      { argv: ['true'] },
    ])
  })

  test('sessions are listed and ended', async () => {
    await runHolt(['exec', '--session', 'dev', 'mine', '--', 'true'], { service })
    expect((await runHolt(['session', 'ls', 'mine'], { service })).stdout).toContain('dev')
    expect(await runHolt(['session', 'rm', 'mine', 'dev'], { service })).toMatchObject({ code: 0 })
    expect(await runHolt(['session', 'ls', 'mine'], { service })).toMatchObject({
      stdout: '',
      stderr: 'No sessions.\n',
    })
    const ended = await runHolt(['session', 'rm', 'mine', 'dev'], { service })
    expect(ended).toMatchObject({ code: 1 })
    expect(ended.stderr).toContain('hint: List the sessions: holt session ls RUNTIME')
  })
})

describe('kill', () => {
  test('kills, or sends a signal by any of its names', async () => {
    const runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
    const first = await runtime.commands.start('trap "exit 7" INT; echo ready; while :; do sleep 0.02; done')
    for await (const item of first.output()) if (item.type === 'stdout') break
    expect(await runHolt(['kill', '-s', 'int', 'mine', first.command_id], { service })).toMatchObject({ code: 0 })
    await expect(first.wait()).resolves.toMatchObject({ exit_code: 7 })
    const second = await runtime.commands.start('sleep 60')
    const ended = await runHolt(['kill', '--json', 'mine', second.command_id.slice(0, 15)], { service })
    expect(JSON.parse(ended.stdout)).toMatchObject({ command_id: second.command_id, signal: 'SIGKILL' })
    expect(await runHolt(['kill', '-s', 'nope', 'mine', second.command_id], { service })).toMatchObject({ code: 2 })
    expect(await runHolt(['kill', 'mine', 'cmnothing'], { service })).toMatchObject({ code: 1 })
  })
})

describe('signals', () => {
  const trapping = ['run', '--', 'sh', '-c', 'trap "echo caught; exit 9" INT; echo ready; while :; do sleep 0.02; done']

  async function startReady(args: readonly string[]) {
    const child = startHolt(args, { service })
    await new Promise<void>((resolve) => child.stdout.once('data', () => resolve()))
    return child
  }

  test('the first signal goes to the command, and the runtime is deleted', async () => {
    const child = await startReady(trapping)
    child.kill('SIGINT')
    expect(await endOf(child)).toMatchObject({ code: 9, stdout: 'caught\n' })
    expect(states()).toEqual(['terminated'])
  })

  test('exec also passes them on', async () => {
    await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
    const child = await startReady(['exec', 'mine', ...trapping.slice(1)])
    child.kill('SIGINT')
    expect(await endOf(child)).toMatchObject({ code: 9, stdout: 'caught\n' })
  })

  test('the second signal kills a command that ignores the first', async () => {
    const child = await startReady([
      'run',
      '--',
      'sh',
      '-c',
      'trap "echo caught" INT; echo ready; while :; do sleep 0.02; done',
    ])
    child.kill('SIGINT')
    await new Promise<void>((resolve) => child.stdout.once('data', () => resolve()))
    child.kill('SIGINT')
    expect((await endOf(child)).code).toBe(137)
    expect(states()).toEqual(['terminated'])
  })
})

test('a reader that closes the pipe early ends the command like a broken pipe, without a message', async () => {
  const child = startHolt(
    [
      'run',
      '--',
      'sh',
      '-c',
      'i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done',
    ],
    { service },
  )
  child.stdout.once('data', () => child.stdout.destroy())
  const { code, stderr } = await endOf(child)
  expect(stderr).toBe('')
  expect([0, 141], 'it may have ended just before').toContain(code)
  expect(states()).toEqual(['terminated'])
})
