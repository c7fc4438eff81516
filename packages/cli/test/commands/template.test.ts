import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt, Template } from '../../../sdk/src/index.ts'
import type { TestBuild } from '../../../sdk/test/support/test-build.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { type Ended, endOf, runHolt, startHolt } from '../support/run-holt.ts'

let service: TestService
let holt: Holt
let here: string
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key })
  here = await mkdtemp(join(tmpdir(), 'holt-build-'))
})
afterEach(async () => {
  await service.close()
  await rm(here, { recursive: true, force: true })
})

const run = (args: readonly string[], how: { input?: string; env?: Record<string, string> } = {}): Promise<Ended> =>
  runHolt(['template', ...args], { service, cwd: here, ...how })
const body = () => service.calls.filter(({ route }) => route === 'createBuild').at(-1)?.body
const newest = () => [...service.builds.values()].at(-1) as TestBuild
const web = Template('web').fromImage('python')

describe('build', () => {
  test('sends the Dockerfile and its context, shows plain lines, and prints the id of the template', async () => {
    await writeFile(join(here, 'Dockerfile'), 'FROM python\nCOPY app.py /\nCMD x\n')
    await writeFile(join(here, 'app.py'), '')
    service.script = async (build) => {
      build.step(1, 'FROM python', 'cached')
      build.step(2, 'COPY app.py /', 'running')
      build.status('building')
      build.log('[2/2] COPY app.py /', 2)
      build.log('copied \u001b[32m1\u001b[0m file', 2)
      build.log('not for people', 2, 'debug')
      build.step(2, 'COPY app.py /', 'done', 1234)
      build.data.ignored.push({ instruction: 'CMD', line: 3, reason: 'the start command says it' })
      build.succeed()
    }
    const ended = await run(['build', '-t', 'web', '.'])
    expect(ended).toMatchObject({ code: 0, stdout: `${newest().data.template_id}\n` })
    expect(body()).toMatchObject({ name: 'web', tag: 'latest', dockerfile: 'FROM python\nCOPY app.py /\nCMD x\n' })
    expect([...service.contexts.keys()]).toEqual([(body() as { context_id: string }).context_id])
    for (const told of [
      '#1 [1/2] FROM python\n#1 cached\n',
      '#2 [2/2] COPY app.py /\n#2 copied 1 file\n',
      '#2 done 1.2s\n',
      'left out CMD (line 3): the start command says it',
      'web is ready (in 1.2s, 1 of 2 steps cached, 118 MiB)',
    ])
      expect(ended.stderr).toContain(told)
    expect(ended.stderr).not.toContain('not for people')
    expect(ended.stderr).not.toContain('\u001b')
  })

  test('reports a failure once, after its steps, and counts the instructions', async () => {
    service.script = (build) => {
      build.status('building')
      build.step(1, 'FROM python', 'done', 100)
      build.step(2, 'RUN nope', 'failed', 100)
      build.data.steps.push({
        step: 3,
        text: 'Export the image',
        stage: null,
        line: null,
        state: 'skipped',
        duration_ms: null,
      })
      build.log('RUN nope exited with 127.', 2, 'error')
      build.fail('step_failed', 'RUN nope exited with 127.', { step: 2 })
    }
    const { code, stderr } = await run(['build', '-t', 'web', '--from-image', 'python', '--run', 'nope'])
    expect(code).toBe(1)
    expect(stderr.match(/exited with 127/g)).toHaveLength(1)
    const told = [
      '#1 [1/2] FROM python',
      '#2 [2/2] RUN nope',
      'holt: failed web:latest',
      'error: step_failed: RUN nope',
    ]
    const places = told.map((text) => stderr.indexOf(text))
    expect(places, stderr).toEqual(places.toSorted((a, b) => a - b))
    expect(places).not.toContain(-1)
  })

  test('takes every option', async () => {
    await writeFile(join(here, 'token'), 'hunter22')
    const args = [
      'build',
      '-t',
      'web:v2',
      '--from-image',
      'python:3.12',
      '--run',
      'one',
      '--copy',
      'token:/srv/',
      '--run',
    ]
    const more = [
      'two',
      '--build-arg',
      'A=1',
      '--build-arg',
      'B',
      '--secret',
      'id=file,src=token',
      '--secret',
      'id=env,env=B',
    ]
    const settings = [
      '--start-cmd',
      's',
      '--ready-cmd',
      'r',
      '--ready-timeout',
      '5',
      '--on-restore',
      'o',
      '--disk',
      '8',
    ]
    const sizes = [
      '--memory',
      '512MiB',
      '--cpu',
      '2',
      '-e',
      'C=3',
      '-u',
      'app',
      '-w',
      '/srv',
      '--timeout',
      '60',
      '--no-cache',
    ]
    const network = [
      '--allow',
      'example.com',
      '--include',
      'npm',
      '--registry-user',
      'me',
      '--registry',
      'r.example.com',
    ]
    const ended = await run([...args, ...more, ...settings, ...sizes, ...network], {
      env: { B: '2' },
      input: 'hunter23\n',
    })
    expect(ended.code, ended.stderr).toBe(0)
    expect(body()).toMatchObject({
      name: 'web',
      tag: 'v2',
      from_image: 'python:3.12',
      steps: [{ run: 'one' }, { copy: { source: 'token', destination: '/srv/' } }, { run: 'two' }],
      context_id: [...service.contexts.keys()][0],
      build_args: { A: '1', B: '2' },
      build_secrets: { file: 'hunter22', env: '2' },
      start_cmd: 's',
      ready_cmd: 'r',
      ready_timeout_secs: 5,
      on_restore: 'o',
      disk: 8192,
      memory: 512,
      cpu: 2,
      env: { C: '3' },
      user: 'app',
      workdir: '/srv',
      timeout_secs: 60,
      no_cache: true,
      network_policy: { allow: [{ host: 'example.com', ports: [443] }], include: ['npm'] },
      registry_auth: { username: 'me', password: 'hunter23', registry: 'r.example.com' },
    })
    expect(ended.stdout + ended.stderr).not.toContain('hunter')
  })

  test('reads the Dockerfile from stdin, and sends nothing if it copies nothing', async () => {
    const ended = await run(['build', '-t', 'web', '-f', '-', '--policy', 'mine'], { input: 'FROM alpine\nRUN true\n' })
    expect(ended.code).toBe(0)
    expect(body()).toMatchObject({ dockerfile: 'FROM alpine\nRUN true\n', network_policy: 'mine' })
    expect(service.contexts.size).toBe(0)
    await run(['build', '-t', 'web', '-f', '-', '--no-network'], { input: 'FROM alpine\n' })
    expect(body()).toMatchObject({ network_policy: null })
  })

  test('prints the build as JSON, and nothing else on stdout', async () => {
    const ended = await run(['build', '-t', 'web', '--from-image', 'x', '--json', '--progress', 'quiet'])
    expect(JSON.parse(ended.stdout)).toEqual(newest().data)
    expect(ended.stderr).toBe('')
  })

  test('does not wait on request', async () => {
    service.script = () => undefined
    expect(await run(['build', '-t', 'web', '--from-image', 'x', '-d'])).toMatchObject({
      code: 0,
      stdout: `${newest().data.build_id}\n`,
    })
    const { stdout } = await run(['build', '-t', 'web', '--from-image', 'x', '-d', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ status: 'queued' })
  })

  test.each(['plain', 'quiet'])(
    'that fails exits with 1, and prints the code, step, output and hint (%s)',
    async (progress) => {
      service.script = (build) => {
        build.step(1, 'FROM x', 'done', 5)
        build.step(2, 'RUN pip install nothing', 'failed', 700)
        build.log('from another step', 1)
        for (let index = 0; index < 40; index++) build.log(`line ${index}`, 2)
        build.fail('step_failed', 'exit code 1', { step: 2, hint: 'See the output.' })
      }
      const ended = await run(['build', '-t', 'web', '--from-image', 'x', '--json', '--progress', progress])
      expect(ended.code).toBe(1)
      expect(JSON.parse(ended.stdout)).toMatchObject({ status: 'failed', reason: { code: 'step_failed' } })
      for (const told of [
        'step 2 (line 2): RUN pip install nothing',
        'error: step_failed: exit code 1',
        'hint: See the output.',
        'line 39',
      ])
        expect(ended.stderr).toContain(told)
      expect(ended.stderr).toContain(`holt template logs ${newest().data.build_id}`)
      if (progress === 'quiet') expect(ended.stderr).not.toMatch(/line 10\b|another step/)
    },
  )

  test('refuses an invalid Dockerfile before anything is sent or pulled', async () => {
    await writeFile(join(here, 'Dockerfile'), 'FROM python\nCOPY . /\nRUN --security=insecure true\n')
    const ended = await run(['build', '-t', 'web', '.'])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toBe('error: dockerfile_invalid: Line 3: RUN has no meaning here\nhint: Leave it out.\n')
    expect([service.count('uploadContext'), service.count('createBuild')]).toEqual([0, 0])
  })

  test('builds if the check itself fails, as with a key without its scope', async () => {
    service.faults.push({ route: 'checkDockerfile', type: 'refuse', code: 'forbidden' })
    expect((await run(['build', '-t', 'web', '-f', '-'], { input: 'FROM alpine\n' })).code).toBe(0)
  })

  test('without a Dockerfile names the searched path', async () => {
    expect(await run(['build', '-t', 'web'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no Dockerfile Dockerfile'),
    })
  })
})

describe('Ctrl-C', () => {
  const start = () => startHolt(['template', 'build', '-t', 'web', '--from-image', 'x'], { service, cwd: here })
  /** The output of the program, and a wait for a text in it. */
  function watching(child: ReturnType<typeof start>) {
    let seen = ''
    child.stderr.on('data', (chunk: Buffer) => (seen += chunk))
    return async (text: string) => {
      while (!seen.includes(text)) {
        if (child.exitCode !== null) throw new Error(`it ended without ${text}: ${seen}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }

  test('cancels the build', async () => {
    service.script = (build) => build.status('building')
    const child = start()
    await watching(child)('building web')
    child.kill('SIGINT')
    const ended = await endOf(child)
    expect(ended).toMatchObject({ code: 130, stdout: '', stderr: expect.stringContaining('was cancelled') })
    expect(newest().data.status).toBe('cancelled')
  })

  test('twice leaves it', async () => {
    service.script = (build) => build.status('building')
    service.faults.push({ route: 'cancelBuild', type: 'hang' })
    const child = start()
    const shown = watching(child)
    await shown('building web')
    child.kill('SIGINT')
    await shown('Ctrl-C again leaves it')
    child.kill('SIGINT')
    expect(await endOf(child)).toMatchObject({ code: 130, stderr: expect.stringContaining('holt template logs -f') })
    expect(newest().data.status).toBe('building')
  })
})

describe('check', () => {
  test('prints a verdict per line, and exits with 1 for a refusal', async () => {
    await writeFile(join(here, 'Dockerfile'), 'FROM python:3.12\nVOLUME /data\nRUN true\n')
    const good = await run(['check'])
    expect(good).toMatchObject({ code: 0, stderr: expect.stringContaining('2 supported, 1 ignored, 0 refused') })
    expect(good.stdout).toMatch(/\n2 +ignored +VOLUME \/data +VOLUME has no meaning here Leave it out\.\n/)
    await writeFile(join(here, 'other'), 'FROM python\nRUN --security=insecure true\n')
    const bad = await run(['check', '-f', 'other', '.'])
    expect(bad).toMatchObject({ code: 1, stderr: expect.stringContaining('other would not be built') })
    expect(JSON.parse((await run(['check', '--json', '-f', '-'], { input: 'FROM a' })).stdout)).toMatchObject({
      ok: true,
    })
  })
})

describe('templates and builds', () => {
  test('are listed, shown and deleted', async () => {
    await web.tag('v2').buildAndWait({ holt })
    const { stdout } = await run(['ls'])
    expect(stdout).toMatch(/\nweb:v2 +custom +ready +1 +1 GiB +4 GiB +117 MiB/)
    expect(stdout).toMatch(/\nbase-small +system /)
    expect((await run(['ls', '--kind', 'system'])).stdout).not.toContain('web')
    expect(JSON.parse((await run(['ls', '--json'])).stdout).data).toHaveLength(2)
    expect(JSON.parse((await run(['get', 'web:v2', '--json'])).stdout)).toMatchObject({ name: 'web', tag: 'v2' })
    expect(await run(['rm', 'web:v2'])).toMatchObject({ code: 0, stderr: 'Deleted web:v2\n' })
    expect(await run(['get', 'web:v2'])).toMatchObject({ code: 1, stderr: expect.stringContaining('holt template ls') })
    expect((await run(['rm', 'base-small'])).code).toBe(1)
  })

  test('a template with only failed builds is listed with --all', async () => {
    const { template_id } = await web.buildAndWait({ holt })
    Object.assign(service.templates.get(template_id) ?? {}, { state: 'failed' })
    for (const args of [['ls'], ['ls', '--json'], ['ls', '-q']]) {
      const [listed, all] = [(await run(args)).stdout, (await run([...args, '--all'])).stdout]
      expect(listed).not.toContain(args.length === 1 ? 'web' : template_id)
      expect(all).toContain(args.length === 1 ? 'web' : template_id)
    }
    expect((await run(['ls', '-a'])).stdout).toMatch(/\nweb +custom +failed /)
  })

  test('logs are of a build, or of the newest build of a template', async () => {
    service.script = (build) => {
      build.gap(3)
      build.log('one\u001b[2J', 1)
      build.log('two', null, 'warn')
      build.succeed()
    }
    const { build_id } = await web.buildAndWait({ holt })
    await web.tag('v2').buildAndWait({ holt })
    const expected = { code: 0, stdout: '#1 one\nwarn: two\n', stderr: 'holt: 3 lines are no longer kept\n' }
    expect(await run(['logs', build_id])).toEqual(expected)
    expect(await run(['logs', '-f', 'web:latest'])).toEqual(expected)
    const items = (await run(['logs', 'web', '--json'])).stdout.trim().split('\n')
    expect(items.map((line) => JSON.parse(line).type)).toEqual(['gap', 'log', 'log', 'end'])
    expect(await run(['logs', 'nothing'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('holt template builds'),
    })
  })

  test('builds are listed and cancelled', async () => {
    expect((await run(['builds'])).stderr).toContain('No builds')
    service.script = (build) =>
      build.body.tag === 'bad' ? build.fail('image_not_found', 'There is no image x\nat all') : undefined
    await web.tag('bad').build({ holt })
    await web.build({ holt })
    const { stdout } = await run(['builds', 'web'])
    expect(stdout).toMatch(/\nbd\w+ +web +queued /)
    expect(stdout).toMatch(/\nbd\w+ +web:bad +failed +1\.2s .*image_not_found: There is no image x$/m)
    expect(JSON.parse((await run(['builds', 'web:bad', '--json'])).stdout).data).toHaveLength(1)
    expect(await run(['cancel', 'web'])).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^bd\w+ of web: cancelled\n$/),
    })
    expect(newest().data.status).toBe('cancelled')
  })

  test('an agent template is pulled', async () => {
    service.template = { ...service.template, name: 'codex', kind: 'agent', state: 'unbuilt' }
    const ended = await run(['pull', 'codex', '--no-cache', '--json'])
    expect(JSON.parse(ended.stdout)).toMatchObject({ name: 'codex', status: 'ready' })
    expect(service.calls.find(({ route }) => route === 'pullTemplate')?.body).toEqual({ no_cache: true })
  })
})
