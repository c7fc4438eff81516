import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt, type Runtime } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { HoltAtTerminal } from '../support/holt-at-terminal.ts'
import { endOf, runHolt, startHolt } from '../support/run-holt.ts'

let service: TestService
let runtime: Runtime
let folder: string
beforeEach(async () => {
  service = await startTestService()
  runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
  folder = await mkdtemp(join(tmpdir(), 'holt-code-'))
})
afterEach(async () => {
  await service.close()
  await rm(folder, { recursive: true })
})

const png = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.alloc(9000, 7)])
const showPng = `show image/png ${png.toString('base64')}`

/** Runs `holt code mine` with code on stdin. */
const run = (code: string, ...args: string[]) =>
  runHolt(['code', 'mine', ...args], { service, input: code, cwd: folder })

describe('code from stdin or a file', () => {
  test('has its output on ours, and results on stdout', async () => {
    expect(await run('print out\nwarn err\nresult 42')).toEqual({ code: 0, stdout: 'out\n42\n', stderr: 'err\n' })
  })

  test('finds the variables of earlier code', async () => {
    await run('set x 1')
    expect(await run('get x')).toMatchObject({ stdout: '1\n' })
    const context = await runtime.code.contexts.create()
    const ended = await run('get x', '--context', context.context_id)
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("name 'x' is not defined") })
  })

  test('of a file has the language of its ending', async () => {
    await writeFile(join(folder, 'app.js'), 'print hello')
    expect(await run('', 'app.js')).toMatchObject({ code: 0, stdout: 'hello\n' })
    expect(service.calls.at(-1)?.body).toMatchObject({ code: 'print hello', language: 'javascript' })
    await run('', '-l', 'python', 'app.js')
    expect(service.calls.at(-1)?.body).toMatchObject({ language: 'python' })
  })

  test.each([
    ['raise ValueError no', 1, 'ValueError'],
    ['wait', 124, 'time limit'],
    ['die', 125, 'variables of earlier code are lost'],
    ['swell', 137, 'ran out of its'],
  ])('with the code %s exits with %i', async (code, exitCode, told) => {
    const ended = await run(code, '--timeout', '0.1')
    expect(ended).toMatchObject({ code: exitCode, stderr: expect.stringContaining(told) })
  })

  test('gets variables of the environment', async () => {
    expect(await run('env A', '-e', 'A=b')).toMatchObject({ stdout: 'b\n' })
  })

  test('is printed as JSON with all its forms', async () => {
    const ended = await run('print out\nshow text/html <b>x</b>', '--json')
    expect(JSON.parse(ended.stdout)).toMatchObject({
      status: 'ok',
      stdout: 'out\n',
      results: [{ data: { 'text/html': '<b>x</b>', 'text/plain': '<shown>' } }],
    })
    expect((await run('raise E v', '--json')).code).toBe(1)
  })

  test('saves pictures as files, and replaces none', async () => {
    const ended = await run(`${showPng}\n${showPng}`)
    expect(ended).toMatchObject({ code: 0, stdout: '' })
    expect(ended.stderr).toBe('holt: saved figure-1.png\nholt: saved figure-2.png\n')
    expect(await readFile(join(folder, 'figure-2.png'))).toEqual(png)
    await run(showPng, '--picture-dir', 'figures/new')
    expect(await readdir(join(folder, 'figures/new'))).toEqual(['figure-1.png'])
    expect(await run(showPng, '--pictures', 'none')).toMatchObject({ stdout: '<shown>\n', stderr: '' })
  })

  test('saves nothing that is no picture', async () => {
    const lie = Buffer.from('#!/bin/sh\ntouch PWNED').toString('base64')
    expect(await run(`show image/png ${lie}`)).toMatchObject({ stdout: '<shown>\n', stderr: '' })
    expect(await readdir(folder)).toEqual([])
  })

  test('is interrupted by Ctrl-C', async () => {
    const child = startHolt(['code', 'mine'], { service })
    child.stdin.end('print begun\nwait')
    child.stdout.once('data', () => child.kill('SIGINT'))
    expect(await endOf(child)).toMatchObject({ code: 130 })
    expect(service.count('interruptCodeRun')).toBe(1)
  })

  test('needs code, and an interpreter', async () => {
    expect(await run('')).toMatchObject({ code: 2, stderr: expect.stringContaining('stdin has no code') })
    service.interpreter = null
    const ended = await run('print x')
    expect(ended).toMatchObject({ code: 125, stderr: expect.stringContaining('holt create -t code-interpreter') })
  })
})

describe('holt run --code', () => {
  test('runs a file in a new runtime of the template, and deletes the runtime', async () => {
    await writeFile(join(folder, 'script.py'), 'print hello\nresult 42')
    const ended = await runHolt(['run', '-t', 'base-small', '--code', 'script.py'], { service, cwd: folder })
    expect(ended).toEqual({ code: 0, stdout: 'hello\n42\n', stderr: '' })
    expect([...service.runtimes.values()].map(({ state }) => state)).toEqual(['running', 'terminated'])
    await runHolt(['run', '--code', '-'], { service, input: 'print x' })
    const created = service.calls.filter(({ route }) => route === 'createRuntime').map(({ body }) => body)
    expect(created.at(-1)).toMatchObject({ template: 'code-interpreter' })
  })

  test('takes either code or a command', async () => {
    for (const args of [['run'], ['run', '--code', '-', '--', 'true']])
      expect(await runHolt(args, { service, input: 'print x' })).toMatchObject({
        stderr: expect.stringContaining('Give a command after --, or a file with --code'),
      })
  })
})

describe('at a terminal', () => {
  const open = (...args: string[]) => new HoltAtTerminal(['code', 'mine', ...args], { service, home: folder })

  test('statements are asked for, and variables stay', async () => {
    using holt = open()
    let at = await holt.shows('In [1]: ')
    holt.type('set x 1\r')
    at = await holt.shows('In [2]: ', at)
    holt.type('get x\r')
    at = await holt.shows('1\r\n', at)
    await holt.shows('In [3]: ', at)
    holt.type('\u0004')
    expect(await holt.code).toBe(0)
    const history = join(folder, '.local/state/holt/code-history')
    expect(await readFile(history, 'utf8')).toBe('get x\nset x 1\n')
    expect((await stat(history)).mode & 0o777).toBe(0o600)
  })

  test('a statement of several lines is run as a whole', async () => {
    using holt = open()
    let at = await holt.shows('In [1]: ')
    holt.type('result (\r')
    at = await holt.shows('...: ', at)
    holt.type('print x)\r')
    await holt.shows('In [2]: ', at)
    expect(service.calls.at(-1)?.body).toMatchObject({ code: 'result (\nprint x)' })
    holt.type('.exit\r')
    expect(await holt.code).toBe(0)
  })

  test('Ctrl-C interrupts the code, and drops what is typed', async () => {
    using holt = open()
    let at = await holt.shows('In [1]: ')
    holt.type('print begun\u0003')
    at = await holt.shows('In [1]: ', at)
    holt.type('wait\r')
    await expect.poll(() => service.interpreter?.runs).toBe(1)
    holt.type('\u0003')
    await holt.shows('In [2]: ', at)
    expect(service.count('interruptCodeRun')).toBe(1)
    holt.type('.restart\r')
    at = await holt.shows('the context is restarted', at)
    await holt.shows('In [1]: ', at)
    holt.type('\u0004')
    expect(await holt.code).toBe(0)
  })

  test('output cannot command the terminal', async () => {
    const attacks = ['\u001b]0;title\u0007', '\u001b[2J', '\u009b6n', '\u202e', '\u001bPq', '\u0007']
    using holt = open()
    let at = await holt.shows('In [1]: ')
    service.interpreter?.start({ run_id: 'cr1', code: `set x ${attacks.join('')}` })
    holt.type('get x\r')
    at = await holt.shows('\\u001b[2J', at)
    for (const attack of attacks) expect(holt.screen.slice(at - 200)).not.toContain(attack)
    holt.type('\u0004')
    await holt.code
  })

  test('pictures are drawn where the terminal can', async () => {
    const env = { TERM: 'xterm-kitty' }
    await writeFile(join(folder, 'plot.py'), showPng)
    using holt = new HoltAtTerminal(['code', 'mine', 'plot.py'], { service, home: folder, env })
    expect(await holt.code).toBe(0)
    const parts = [...holt.screen.matchAll(/\u001b_G([^;]*);([^\u001b]*)\u001b\\/g)]
    expect(parts.map(([, keys]) => keys)).toEqual(['a=T,f=100,q=2,m=1', 'm=1', 'm=0'])
    expect(Buffer.from(parts.map(([, , text]) => text).join(''), 'base64')).toEqual(png)
    expect((await readdir(folder)).filter((name) => !name.startsWith('.'))).toEqual(['plot.py'])
  })
})
