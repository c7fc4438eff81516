import { Command, type CreateBuildInput } from '@holt/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { call, success } from './support/api.ts'
import { TestAttachment } from './support/attach.ts'
import { describeClasses } from './support/classes.ts'
import { built, templatesPath } from './support/test-build.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// PATH, HOME, HOSTNAME, SHELL, USER and LOGNAME of an image, in runtimes.

const unique = Date.now().toString(36)
const slow = 300_000

const lines = ['PATH', 'HOME', 'HOSTNAME', 'SHELL', 'USER', 'LOGNAME'].map((key) => `ENV ${key}=/opt/x`)
/** A shell of a session has a HOSTNAME of its own, which no program gets. */
const show =
  'echo "PATH=$PATH HOME=$HOME HOSTNAME=$(/usr/bin/printenv HOSTNAME) SHELL=$SHELL USER=$USER LOGNAME=$LOGNAME"'
const platform = {
  PATH: '/workspace/.venv/bin:/home/user/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/home/user',
  HOSTNAME: '',
  SHELL: '/bin/bash',
  USER: 'user',
  LOGNAME: 'user',
}
const shown = (env: Readonly<Record<string, string>>) =>
  Object.entries(env)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
const record = (file: string) => `${show} >/tmp/${file}`

const body = (name: string, more: Partial<CreateBuildInput> = {}): CreateBuildInput => ({
  name: `${name}-${unique}`,
  dockerfile: ['FROM holt/base-small', ...lines, `RUN ${show} >/tmp/run`].join('\n'),
  start_cmd: `${record('start_cmd')}; exec sleep 3600`,
  ready_cmd: `${record('ready_cmd')}; test -s /tmp/start_cmd`,
  on_restore: record('on_restore'),
  ...more,
})
const own = { ...platform, PATH: `/opt/own:${platform.PATH}`, HOME: '/opt/own', HOSTNAME: 'own', SHELL: '/bin/sh' }
const ownEnv = { PATH: own.PATH, HOME: own.HOME, HOSTNAME: own.HOSTNAME, SHELL: own.SHELL }

beforeAll(async () => {
  const { ignored } = await built(body('of-lines'))
  expect(ignored.map(({ instruction, line }) => `${line} ${instruction}`)).toEqual(
    lines.map((text, index) => `${index + 2} ${text.split('=')[0]}`),
  )
  await built(body('of-request', { env: ownEnv }))
  await built({ name: `above-${unique}`, from_template: `of-lines-${unique}`, steps: [{ run: `${show} >/tmp/above` }] })
}, slow)
afterAll(async () => {
  for (const name of ['above', 'of-lines', 'of-request']) await call('DELETE', `${templatesPath}/${name}-${unique}`)
}, slow)

describeClasses('keys of the platform', (isolation) => {
  const everywhere = async (runtime: TestRuntime, want: string) => {
    expect((await runtime.run(show)).stdout.trim(), 'a command').toBe(want)
    expect((await runtime.run(show, { session: 'one' })).stdout.trim(), 'a session').toBe(want)
    for (const file of ['start_cmd', 'ready_cmd', 'on_restore'])
      expect((await runtime.run(['cat', `/tmp/${file}`])).stdout.trim(), file).toBe(want)
    const json = { background: true, pty: { cols: 400, rows: 10 }, command: show }
    const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
    const screen = new TestAttachment(`${runtime.path}/commands/${command_id}`, { write: false })
    await until('the terminal ends', async () => screen.last('end') !== undefined, 40_000)
    expect(screen.text.trim(), 'a terminal').toBe(want)
  }

  it(
    'have the values of the platform in runtimes, and of the Dockerfile in RUN',
    async () => {
      await using runtime = await createRuntime({ template: `of-lines-${unique}`, isolation })
      await everywhere(runtime, shown(platform))
      const ofLines = Object.fromEntries(Object.keys(platform).map((name) => [name, '/opt/x']))
      expect((await runtime.run(['cat', '/tmp/run'])).stdout.trim()).toBe(shown(ofLines))
    },
    slow,
  )

  it(
    'have the values of the request if it sets them',
    async () => {
      await using runtime = await createRuntime({ template: `of-request-${unique}`, isolation })
      await everywhere(runtime, shown(own))
    },
    slow,
  )

  it(
    'are not inherited from a template that sets them',
    async () => {
      await using runtime = await createRuntime({ template: `above-${unique}`, isolation })
      expect((await runtime.run(show)).stdout.trim()).toBe(shown(platform))
      expect((await runtime.run(['cat', '/tmp/above'])).stdout).toContain('PATH=/opt/x HOME=/opt/x')
    },
    slow,
  )
})
