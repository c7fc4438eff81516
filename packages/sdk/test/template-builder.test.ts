import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt, Template } from '../src/index.ts'
import { firstFixedPart } from '../src/template/context-tree.ts'
import { isDockerfileText, readsContext } from '../src/template/dockerfile-source.ts'
import { startTestService, type TestService } from './support/test-service.ts'

let service: TestService
let holt: Holt
let here: string
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key })
  here = await mkdtemp(join(tmpdir(), 'holt-template-'))
})
afterEach(async () => {
  await service.close()
  await rm(here, { recursive: true, force: true })
})

const body = () => service.calls.filter(({ route }) => route === 'createBuild').at(-1)?.body
const sentFiles = () => {
  const [input] = [...service.contexts.values()].slice(-1)
  return execFileSync('tar', ['-tf', '-'], { input }).toString().trim().split('\n')
}

test('every method appears in the body of the build', async () => {
  const template = Template('web:v2')
    .fromImage('python:3.12-slim')
    .run(['pip install flask', 'pip check'])
    .env({ A: '1' })
    .workdir('/srv')
    .user('app')
    .startCmd('python app.py')
    .readyCmd('curl -f localhost', { timeoutSecs: 30 })
    .onRestore('date > /tmp/at')
    .disk('8GiB')
    .cpu(2)
    .memory(0.5)
    .networkPolicy({ include: ['pypi'] })
    .buildArg('V', '1')
    .buildArg('W', '2')
    .buildSecret('token', 'hunter22')
    .registryAuth({ username: 'u', password: 'p' })
    .timeout(120)
    .noCache()
    .runtimeEnv({ PATH: '/opt/bin:/bin' })
    .runtimeEnv({ HOME: '/srv' })
  const build = await template.build({ holt })
  expect(build).toMatchObject({ name: 'web', tag: 'v2' })
  expect(body()).toEqual({
    name: 'web',
    tag: 'v2',
    from_image: 'python:3.12-slim',
    steps: [{ run: 'pip install flask && pip check' }, { env: { A: '1' } }, { workdir: '/srv' }, { user: 'app' }],
    env: { PATH: '/opt/bin:/bin', HOME: '/srv' },
    start_cmd: 'python app.py',
    ready_cmd: 'curl -f localhost',
    ready_timeout_secs: 30,
    on_restore: 'date > /tmp/at',
    timeout_secs: 120,
    disk: 8192,
    cpu: 2,
    memory: 512,
    network_policy: { allow: [], include: ['pypi'], allow_all_hosts: false, deny: [] },
    build_args: { V: '1', W: '2' },
    build_secrets: { token: 'hunter22' },
    registry_auth: { username: 'u', password: 'p' },
    no_cache: true,
  })
})

test('a description can be the base of several', async () => {
  const base = Template('base').fromTemplate('base-small').run('one')
  const left = base.run('two').buildArg('A', '1')
  await base.name('right').run('three').build({ holt })
  expect(body()).toMatchObject({
    name: 'right',
    from_template: 'base-small',
    steps: [{ run: 'one' }, { run: 'three' }],
    build_args: {},
  })
  await left.build({ holt })
  expect(body()).toMatchObject({ name: 'base', steps: [{ run: 'one' }, { run: 'two' }], build_args: { A: '1' } })
})

test('only copied files of the directory are sent', async () => {
  for (const name of ['app.py', 'secret.key', 'lib/a.py', 'lib/b.py', 'static/x/y.css']) {
    await mkdir(join(here, name, '..'), { recursive: true })
    await writeFile(join(here, name), name)
  }
  const template = Template('web').fromImage('python').context(here)
  await template.copy(['./app.py', 'lib/*.py'], '/srv/', { chmod: '644' }).copy('static', '/srv/').build({ holt })
  expect(sentFiles()).toEqual([
    './',
    'app.py',
    'lib/',
    'lib/a.py',
    'lib/b.py',
    'static/',
    'static/x/',
    'static/x/y.css',
  ])
  expect(body()).toMatchObject({
    context_id: [...service.contexts.keys()].at(-1),
    steps: [
      { copy: { source: ['./app.py', 'lib/*.py'], destination: '/srv/', chmod: '644' } },
      { copy: { source: 'static' } },
    ],
  })
})

describe('a Dockerfile', () => {
  test('is a path, whose directory is the context', async () => {
    await writeFile(join(here, 'Dockerfile'), 'FROM scratch\nCOPY app.py /\n')
    await writeFile(join(here, 'app.py'), '')
    await writeFile(join(here, 'Dockerfile.dockerignore'), 'Dockerfile*\n')
    const progress: number[] = []
    await Template('web')
      .fromDockerfile(join(here, 'Dockerfile'), { target: 'last' })
      .env({ A: '1' })
      .env({ B: '2' })
      .runtimeEnv({ C: '3' })
      .user('app')
      .build({ holt, onUpload: ({ files }) => progress.push(files) })
    expect(body()).toMatchObject({
      dockerfile: 'FROM scratch\nCOPY app.py /\n',
      target: 'last',
      env: { A: '1', B: '2', C: '3' },
      user: 'app',
    })
    expect(body()).not.toHaveProperty('steps')
    expect(sentFiles()).toEqual(['./', 'app.py'])
    expect(progress).toEqual([1])
  })

  test('is a text, with a context if one is given and used', async () => {
    await Template('web').fromDockerfile('FROM python:3.12').build({ holt })
    expect(body()).toMatchObject({ dockerfile: 'FROM python:3.12' })
    await Template('web').fromDockerfile('FROM python\nRUN true', { context: here }).build({ holt })
    expect(service.contexts.size).toBe(0)
    await Template('web').fromDockerfile('FROM python\nCOPY . /', { context: here }).build({ holt })
    expect(service.contexts.size).toBe(1)
  })

  test('excludes steps', async () => {
    const template = Template('web').fromDockerfile('FROM python\n').run('true')
    await expect(template.build({ holt })).rejects.toMatchObject({ hint: expect.stringContaining('RUN and COPY') })
  })

  test.each([
    ['FROM python', true],
    ['  from python', true],
    ['# syntax=x', true],
    ['ARG A', true],
    ['\nFROM x', true],
    ['Dockerfile', false],
    ['./FROM', false],
    ['build/prod.Dockerfile', false],
  ])('%j is a text: %s', (text, expected) => {
    expect(isDockerfileText(text)).toBe(expected)
  })

  test.each([
    ['FROM a\nRUN b', false],
    ['FROM a\ncopy b c', true],
    ['FROM a\n  ADD b c', true],
    ['FROM a\nRUN --mount=type=bind,target=/x ls', true],
    ['FROM a\nCO\\\nPY b c', true],
    ['FROM a\nRUN echo COPY b c', false],
  ])('%j reads its context: %s', (text, expected) => {
    expect(readsContext(text)).toBe(expected)
  })
})

test.each([
  ['a/b/*.c', 'a/b'],
  ['./a//b/', 'a/b'],
  ['/a', 'a'],
  ['.', ''],
  ['*', ''],
  ['a/../../b', 'b'],
  ['a\\*b/c', ''],
])('below the fixed part of %j is %j', (pattern, expected) => {
  expect(firstFixedPart(pattern)).toBe(expected)
})

test.each([
  [Template().fromImage('x'), 'has no name'],
  [Template('x'), 'has no base'],
  [Template('x').fromDockerfile('/nowhere/Dockerfile'), 'There is no Dockerfile /nowhere/Dockerfile'],
])('an incomplete description is refused before anything is sent', async (template, told) => {
  await expect(template.build({ holt })).rejects.toMatchObject({
    message: expect.stringContaining(told),
    hint: expect.any(String),
  })
  expect(service.calls).toEqual([])
})

test('begins with a snapshot', async () => {
  await Template('web').fromSnapshot('before').run('pip check').build({ holt })
  expect(body()).toMatchObject({ from_snapshot: 'before', steps: [{ run: 'pip check' }] })
})
