import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { programFile } from '@holt/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { takeLock } from '../../src/foundation/config/daemon-lock.ts'
import { version } from '../../src/foundation/config/version.ts'

const main = programFile('holtd')

/** Runs holtd to its end over a state directory of its own. */
async function holtd(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'holt-main-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const child = spawn(process.execPath, [main, ...args], {
    cwd: '/',
    env: {
      PATH: process.env.PATH,
      HOLT_STATE_DIR: join(dir, 'state'),
      HOLT_RUN_DIR: join(dir, 'run'),
      HOLT_PORT: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { stdout, stderr, code, dir }
}

test('the version is that of the package', async () => {
  expect(await holtd(['version'])).toMatchObject({ code: 0, stdout: `${version}\n` })
})

test('the help names every setting', async () => {
  const { code, stdout } = await holtd(['--help'])
  expect(code).toBe(0)
  const settings = ['config.ts', 'tracing-settings.ts'].map(
    (name) => new URL(`../../src/foundation/config/${name}`, import.meta.url),
  )
  const sources = await Promise.all(settings.map((url) => readFile(url, 'utf8')))
  const names = sources.flatMap((source) => source.match(/^ +(?:HOLT|OTEL)_[A-Z_]+(?=[:,])/gm) ?? [])
  expect(names.length).toBeGreaterThan(30)
  for (const name of names) expect(stdout).toMatch(new RegExp(`\\b${name.trim()}\\b`))
})

test.each([[['nothing']], [['serve', 'more']], [['doctor', '--xml']], [['version', '--json']]])(
  'the arguments %j are a usage error',
  async (args) => {
    const { code, stderr } = await holtd(args)
    expect(code).toBe(2)
    expect(stderr).toContain('holtd doctor')
  },
)

test('wrong settings end the daemon before it creates anything, one line for each', async () => {
  const { code, stderr, dir } = await holtd([], { HOLT_HOST: '0.0.0.0', HOLT_PORT: 'http' })
  expect(code).toBe(2)
  expect(stderr).toMatch(/HOLT_HOST: .*HOLT_ALLOW_REMOTE=1/)
  expect(stderr).toMatch(/^HOLT_PORT: /m)
  expect(await readdir(dir)).toEqual([])
})

test('a start without a matching guest fails at once and names the command that builds it', async () => {
  const { code, stderr, dir } = await holtd(['serve'], { HOLT_GUEST: '/nowhere/holt-guest' })
  expect(code).toBe(1)
  expect(stderr).toBe('error: The guest /nowhere/holt-guest is not there. To correct it: unset HOLT_GUEST\n')
  expect(await readdir(dir)).toEqual([])
})

test('doctor without a guest names the command that builds it and creates nothing', async () => {
  const { code, stdout, dir } = await holtd(['doctor'], { HOLT_GUEST: '/nowhere/holt-guest' })
  expect(code).toBe(1)
  expect(stdout).toMatch(/^FIX: unset HOLT_GUEST {4}# guest: \/nowhere\/holt-guest is not there$/m)
  expect(await readdir(dir)).toEqual([])
})

test('doctor says that no service runs, and how to start one', async () => {
  const { stdout, dir } = await holtd(['doctor'], { HOLT_GUEST: '/nowhere/holt-guest' })
  expect(stdout).toContain(`\nwarn holtd: no service runs over ${join(dir, 'state')} (holt up)\n`)
})

test('halt without a service does nothing and creates nothing', async () => {
  // Nor does a setting matter that is wrong: the machine goes down.
  const { code, stderr, dir } = await holtd(['halt'], { HOLT_PORT: 'none' })
  expect([code, stderr]).toEqual([0, ''])
  expect(await readdir(dir)).toEqual([])
})

test('halt refuses while the service runs', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-main-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  await takeLock(dir, 'holtd.service')
  const { code, stderr } = await holtd(['halt'], { HOLT_STATE_DIR: dir })
  expect([code, stderr]).toEqual([1, 'error: holtd runs: stop it first (systemctl stop holtd.service)\n'])
})

test.each([
  ['doctor', 'stderr', /^warning: Holt has no setting HOLT_POOL_MINN\. Did you mean HOLT_POOL_MIN\?$/m],
  ['serve', 'stdout', /"level":40,.*"msg":"Holt has no setting HOLT_POOL_MINN\. Did you mean HOLT_POOL_MIN\?"/],
] as const)('%s warns of an unknown HOLT variable on %s', async (verb, stream, warning) => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-main-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  // The service that runs here ends the start of another one.
  await takeLock(dir, null)
  const ended = await holtd([verb], { HOLT_STATE_DIR: dir, HOLT_POOL_MINN: '5' })
  expect(ended[stream]).toMatch(warning)
})

test('purge works without a guest', async () => {
  const { code, stderr } = await holtd(['purge'], { HOLT_GUEST: '/nowhere/holt-guest' })
  expect([code, stderr]).toEqual([0, ''])
})

test('an invalid image reference is a wrong setting', async () => {
  const { code, stderr } = await holtd([], { HOLT_BASE_IMAGE: 'oci:/etc' })
  expect([code, stderr]).toEqual([2, 'error: HOLT_BASE_IMAGE: is not an image reference\n'])
})

test('doctor prints JSON', async () => {
  const { stdout } = await holtd(['doctor', '--json'], { HOLT_GUEST: '/nowhere/holt-guest' })
  const { checks } = JSON.parse(stdout)
  expect(checks.find(({ name }: { name: string }) => name === 'guest')).toMatchObject({
    status: 'fix',
    fix: expect.any(String),
  })
  expect(checks.find(({ name }: { name: string }) => name === 'node')).toMatchObject({ status: 'ok', fix: null })
})
