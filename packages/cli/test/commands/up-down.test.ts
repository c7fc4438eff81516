import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@holt/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startTimeOf } from '../../src/daemon/state.ts'
import { endOf, holtArgv, runHolt, startHolt } from '../support/run-holt.ts'

let stateDir: string
let port: string
let env: Record<string, string>
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'holt-up-'))
  port = String(await freePort())
  env = {
    HOLT_STATE_DIR: join(stateDir, 'state'),
    HOLT_PORT: port,
    HOLT_DAEMON: fileURLToPath(new URL('../support/fake-daemon.ts', import.meta.url)),
  }
})
afterEach(async () => {
  await holt(['down'])
  await rm(stateDir, { recursive: true, force: true })
})

const holt = (args: string[], more: Record<string, string> = {}) => runHolt(args, { env: { ...env, ...more } })

async function pidOf(): Promise<number> {
  return JSON.parse(await readFile(join(env.HOLT_STATE_DIR ?? '', 'holtd.pid'), 'utf8')).pid
}

test('up starts the service, shows the progress of the template, and names the next command', async () => {
  const ended = await holt(['up'])
  expect(ended).toMatchObject({ code: 0, stdout: '' })
  expect(ended.stderr).toMatch(/^Making the base template\. This takes a minute or two/m)
  expect(ended.stderr).toMatch(/^ 33 % {2}install packages$/m)
  expect(ended.stderr).toMatch(/^100 % {2}The base template is ready$/m)
  expect(ended.stderr).toContain(`✓ Holt is ready at http://127.0.0.1:${port}`)
  expect(ended.stderr).toMatch(/run -- python/)
  expect(ended.stderr).not.toContain('e2b')
  expect((await stat(join(env.HOLT_STATE_DIR ?? '', 'holtd.log'))).mode & 0o777).toBe(0o600)
})

test('up for clients of E2B names the command that lets them find the service', async () => {
  const { code, stderr } = await holt(['up', '--e2b'])
  expect(code).toBe(0)
  expect(stderr).toMatch(/^ {2}eval "\$\(\S+ e2b env\)"/m)
})

test('a second up does nothing', async () => {
  await holt(['up'])
  const pid = await pidOf()
  expect(await holt(['up'])).toMatchObject({ code: 0, stderr: expect.stringContaining('runs already') })
  expect(await pidOf()).toBe(pid)
})

test('up with other settings than the running service names them, and the command to apply them', async () => {
  await holt(['up'])
  const changed = [
    { name: 'HOLT_POOL_MAX', running: '10', here: null },
    { name: 'HOLT_ISOLATION', running: null, here: 'container' },
  ]
  const again = await holt(['up'], { FAKE_CHANGED: JSON.stringify({ changed }) })
  expect(again.code).toBe(0)
  expect(again.stderr).toContain(
    '  HOLT_POOL_MAX: 10 there, not set here\n  HOLT_ISOLATION: not set there, container here\n',
  )
  expect(again.stderr).toMatch(/To apply the settings of this shell: \S+ down && \S+ up/)
  const { stdout } = await holt(['up', '--json'], { FAKE_CHANGED: JSON.stringify({ changed }) })
  expect(JSON.parse(stdout).changed_settings).toEqual(changed)
})

test('a start with other settings than the last one names them', async () => {
  const since_last_start = [
    { name: 'HOLT_PORT', running: '5000', here: null },
    { name: 'HOLT_ISOLATION', running: null, here: 'container' },
  ]
  const FAKE_CHANGED = JSON.stringify({ changed: [], since_last_start })
  expect((await holt(['up'], { FAKE_CHANGED })).stderr).not.toContain('warning')
  await holt(['down'])
  const { code, stderr } = await holt(['up'], { FAKE_CHANGED })
  expect(code).toBe(0)
  expect(stderr).toContain(
    'warning: the last start had other settings than this one:\n  HOLT_PORT: 5000 then, not set now\n  HOLT_ISOLATION: not set then, container now\n',
  )
  await holt(['down'])
  expect(JSON.parse((await holt(['up', '--json'], { FAKE_CHANGED })).stdout)).toMatchObject({
    changed_settings: [],
    changed_since_last_start: [
      { name: 'HOLT_PORT', last: '5000', here: null },
      { name: 'HOLT_ISOLATION', last: null, here: 'container' },
    ],
  })
  await holt(['down'])
  await writeFile(join(env.HOLT_STATE_DIR ?? '', 'running.json'), JSON.stringify({ unit: 'holtd.service' }))
  expect((await holt(['up'], { FAKE_CHANGED })).stderr).toMatch(
    /To go back: \S+ down && systemctl start holtd\.service/,
  )
})

test('settings that cannot be compared do not block a start', async () => {
  await holt(['up'])
  await holt(['down'])
  expect(await holt(['up'], { FAKE_CHANGED: 'nothing that is JSON' })).toMatchObject({ code: 0 })
})

test('up --json prints the address', async () => {
  const { stdout } = await holt(['up', '--json'])
  expect(JSON.parse(stdout)).toMatchObject({ url: `http://127.0.0.1:${port}`, status: 'ready' })
})

test('up after a crash starts a new service, even if the pid file names a process', async () => {
  await holt(['up'])
  const pid = await pidOf()
  process.kill(pid, 'SIGKILL')
  expect(await holt(['up'])).toMatchObject({ code: 0 })
  expect(await pidOf()).not.toBe(pid)
})

test('a service that ends at once is reported with its last log lines', async () => {
  const ended = await holt(['up'], { FAKE_DAEMON: 'end' })
  expect(ended.code).toBe(1)
  expect(ended.stderr).toMatch(/error: holtd ended with exit code 3:\n {2}FIX: free the port\n/)
})

test('a service that ends during the progress bar ends the bar and the wait', () => {
  const command = `stty cols 100 && ${holtArgv.join(' ')} up`
  const { status, stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
    env: { PATH: process.env.PATH, ...env, FAKE_DAEMON: 'die' },
    encoding: 'utf8',
    timeout: 40_000,
  })
  expect(status).toBe(1)
  expect(stdout).toMatch(/━━━/)
  expect(stdout).toContain('holtd ended with exit code 3')
})

test('a failed template is reported with its reason', async () => {
  const ended = await holt(['up'], { FAKE_DAEMON: 'template' })
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain('error: The template base-small cannot be made: no mirror answers')
})

test('up stops as soon as no isolation class is available, with the reasons and remedies', async () => {
  const first = await holt(['up'], { FAKE_DAEMON: 'classless' })
  const again = await holt(['up'], { FAKE_DAEMON: 'classless' })
  for (const { code, stderr } of [first, again]) {
    expect(code).toBe(1)
    expect(stderr).toContain(
      'no isolation class is available:\n  gvisor: runsc fails\n  container: user namespaces are forbidden\n  FIX: sysctl -w user.max=1\n',
    )
    expect(stderr).toMatch(/hint: Repair one of them, then: \S+ down && \S+ up\./)
  }
  expect(await startTimeOf(await pidOf())).not.toBeNull()
})

test('Ctrl-C leaves a start, and says what continues', async () => {
  const child = startHolt(['up'], { env: { ...env, FAKE_DAEMON: 'slow' } })
  child.stderr.on('data', (text: Buffer) => {
    if (text.includes('install packages')) child.kill('SIGINT')
  })
  const { code, stderr } = await endOf(child)
  expect(code).toBe(130)
  expect(stderr).toMatch(
    /^holt: stopped waiting\. The service continues\. It waits for: the base template is being made\nholt: show its progress: \S+ status\. End it: \S+ down$/m,
  )
  expect(stderr).not.toContain('error')
  expect(await startTimeOf(await pidOf())).not.toBeNull()
})

test('Ctrl-C at a terminal ends the bar and leaves the start', async () => {
  const keyboard = fileURLToPath(new URL('../../../../e2e/probe/keyboard.py', import.meta.url))
  const child = spawn(
    'python3',
    [keyboard, 'sh', '-c', `trap : INT; stty cols 100; ${holtArgv.join(' ')} up; echo ended $?`],
    {
      env: { PATH: process.env.PATH, TERM: 'xterm', ...env, FAKE_DAEMON: 'slow' },
    },
  )
  let screen = ''
  child.stdout.on('data', (bytes: Buffer) => {
    const isDrawn = screen.includes('━━━')
    screen += bytes.toString()
    if (!isDrawn && screen.includes('━━━')) child.stdin.write(`${JSON.stringify({ type: '\u0003' })}\n`)
  })
  await once(child, 'close')
  expect(screen).toContain('holt: stopped waiting. The service continues')
  expect(screen).toContain('ended 130')
})

test('an unknown HOLT variable is reported once by each command', async () => {
  const misspelt = { HOLT_POOL_MINN: '5', HOLT_FOO: '1' }
  const warnings = `warning: Holt has no setting HOLT_FOO.
warning: Holt has no setting HOLT_POOL_MINN. Did you mean HOLT_POOL_MIN?
`
  const started = await holt(['up'], misspelt)
  expect(started.code).toBe(0)
  expect(started.stderr.startsWith(warnings)).toBe(true)
  expect((await holt(['status'], misspelt)).stderr).toBe(warnings)
  expect(await holt(['doctor'], { ...misspelt, FAKE_DAEMON: 'names' })).toMatchObject({
    stderr: warnings,
    stdout: expect.not.stringContaining('HOLT_FOO'),
  })
  expect((await holt(['__complete', '--', 'cr'], misspelt)).stderr).toBe('')
  expect((await holt(['status'])).stderr).toBe('')
})

test('status reports if the service runs', async () => {
  // Without credentials the client would ask the usual port, where another service may be.
  const before = await holt(['status'], { HOLT_URL: `http://127.0.0.1:${port}` })
  expect(before).toMatchObject({ code: 1, stdout: expect.stringContaining('does not answer') })
  await holt(['up'])
  const { code, stdout } = await holt(['status', '--json'])
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ pid: await pidOf(), readiness: { status: 'ready' } })
})

describe('a service of another state directory on the port of this one', () => {
  const other = () => ({ HOLT_STATE_DIR: join(stateDir, 'other'), HOLT_PORT: port })
  beforeEach(async () => {
    await holt(['up'])
    await mkdir(join(stateDir, 'other'))
    const credentials = { url: `http://127.0.0.1:${port}`, key: 'holt_unknown' }
    await writeFile(join(stateDir, 'other', 'credentials.json'), JSON.stringify(credentials))
  })

  test('does not make status ready', async () => {
    const { code, stdout, stderr } = await holt(['status'], other())
    expect(code).toBe(1)
    expect(stdout).toMatch(/^service {4}does not answer$/m)
    expect(stdout).not.toContain('version')
    expect(stderr).toContain(
      `holt: The service that answers at http://127.0.0.1:${port} seems to belong to another state directory, and none runs over ${stateDir}/other.\n`,
    )
    expect(stderr).toMatch(new RegExp(`up --state-dir ${stateDir}/other --port ${Number(port) + 1} `))
    expect(JSON.parse((await holt(['status', '--json'], other())).stdout)).toMatchObject({
      url: null,
      pid: null,
      readiness: null,
      other_service: `http://127.0.0.1:${port}`,
    })
  })

  test.each([
    [['run', '--', 'true'], 125],
    [['ls'], 1],
    [['create'], 1],
  ] as const)('is named by the error of %j', async (args, code) => {
    const ended = await holt([...args], other())
    expect(ended.code).toBe(code)
    expect(ended.stderr).toContain(
      `error: The service that answers at http://127.0.0.1:${port} seems to belong to another state directory, and none runs over`,
    )
    expect(ended.stderr).toMatch(/hint: Start one here on another port: \S+ up --state-dir /)
  })

  test('is not one whose key or address was given', async () => {
    expect((await holt(['ls'], { ...other(), HOLT_API_KEY: 'holt_wrong' })).stderr).not.toContain('state directory')
  })
})

test('status prints the path of the log, also for a service under systemd', async () => {
  await holt(['up'])
  expect((await holt(['status'])).stdout).toContain(`log        ${join(env.HOLT_STATE_DIR ?? '', 'holtd.log')}\n`)
  const path = join(env.HOLT_STATE_DIR ?? '', 'running.json')
  await writeFile(path, JSON.stringify({ pid: await pidOf(), unit: 'holtd.service', settings: {} }))
  expect((await holt(['status'])).stdout).toContain('log        journalctl -u holtd.service\n')
  await holt(['down'])
  expect((await holt(['status'])).stdout).toContain('log        journalctl -u holtd.service\n')
})

test('down stops the service, and a second one is no failure', async () => {
  await holt(['up'])
  const pid = await pidOf()
  expect(await holt(['down'])).toMatchObject({ code: 0, stderr: 'holtd has stopped\n' })
  expect(await startTimeOf(pid)).toBeNull()
  expect(await holt(['down'])).toMatchObject({ code: 0, stderr: 'holtd does not run\n' })
})

test('down never stops another process with the same pid', async () => {
  await holt(['up'])
  const path = join(env.HOLT_STATE_DIR ?? '', 'holtd.pid')
  const real = await readFile(path, 'utf8')
  await writeFile(path, JSON.stringify({ pid: process.pid, start_time: '1' }))
  expect(await holt(['down'])).toMatchObject({ code: 0, stderr: 'holtd does not run\n' })
  await writeFile(path, real)
})

test.each([['down'], ['down', '--all']])(
  '%s %s leaves a service under systemd to systemd, and says how',
  async (...args) => {
    await holt(['up'])
    const path = join(env.HOLT_STATE_DIR ?? '', 'holtd.pid')
    const real = await readFile(path, 'utf8')
    await writeFile(path, JSON.stringify({ ...JSON.parse(real), unit: 'holtd.service' }))
    const ended = await holt(args.filter(Boolean))
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('systemctl stop holtd.service') })
    expect(await startTimeOf(await pidOf())).not.toBeNull()
    expect(existsSync(join(env.HOLT_STATE_DIR ?? '', 'purged'))).toBe(false)
    await writeFile(path, real)
  },
)

test('down says that systemd may restart a service that has just failed', async () => {
  await holt(['up'])
  const path = join(env.HOLT_STATE_DIR ?? '', 'holtd.pid')
  const real = await readFile(path, 'utf8')
  await writeFile(path, JSON.stringify({ pid: process.pid, start_time: '1', unit: 'holtd.service' }))
  expect(await holt(['down'])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('systemctl stop holtd.service'),
  })
  await writeFile(path, real)
})

test('down --all also removes the files of the installation', async () => {
  await holt(['up'])
  expect(await holt(['down', '--all', '--json'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"purged": true'),
    stderr: expect.stringContaining('its runtimes and all its kernel objects are removed'),
  })
  expect(existsSync(join(env.HOLT_STATE_DIR ?? '', 'purged'))).toBe(true)
})

test('doctor runs the check of the service', async () => {
  expect(await holt(['doctor'])).toMatchObject({ code: 0, stdout: 'ok node\n' })
  expect(JSON.parse((await holt(['doctor', '--json'])).stdout)).toEqual({ checks: [] })
})

test('export and import run those of the service, with files or pipes', async () => {
  expect(await holt(['export', '-'])).toMatchObject({ code: 0, stdout: 'the rows, for -\n' })
  expect(await runHolt(['import', '-'], { env, input: 'all of them' })).toMatchObject({
    code: 0,
    stdout: 'all of them',
  })
})
