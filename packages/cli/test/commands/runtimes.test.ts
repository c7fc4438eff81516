import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Holt } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { runHolt, startHolt } from '../support/run-holt.ts'

let service: TestService
let holt: Holt
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key })
})
afterEach(() => service.close())

test('create prints only the id on stdout', async () => {
  const ended = await runHolt(['create', '-n', 'mine'], { service })
  expect(ended.code).toBe(0)
  expect(ended.stdout).toBe(`${[...service.runtimes.keys()][0]}\n`)
  expect(ended.stderr).toBe('Running: base-small, gvisor, 1 vCPU, 1 GiB memory, 4 GiB disk\n')
})

describe('create --dry-run', () => {
  test('prints the planned runtime, and creates nothing', async () => {
    const ended = await runHolt(['create', '--dry-run', '--memory', '2'], { service })
    expect(ended).toMatchObject({ code: 0, stderr: 'holt: the create would work; nothing was made\n' })
    for (const line of [
      /^would_create +true$/m,
      /^template\.name +base-small$/m,
      /^memory_mib +2048$/m,
      /^allowed +example\.org, npm$/m,
      /^room +30 GiB of memory, 90 GiB of disk$/m,
      /^QUOTA +USED +AFTER +LIMIT\nmemory_mib +0 GiB +2 GiB +8 GiB$/m,
    ])
      expect(ended.stdout).toMatch(line)
    expect(service.runtimes.size).toBe(0)
  })

  test('exits like the create, with the error of each reason', async () => {
    await holt.runtimes.create({ name: 'mine' })
    const options = ['-t', 'none', '-n', 'mine', '--memory', '9']
    const refused = await runHolt(['create', ...options], { service })
    const ended = await runHolt(['create', '--dry-run', ...options], { service })
    expect([ended.code, refused.code]).toEqual([1, 1])
    expect(ended.stderr.startsWith(refused.stderr.split('\n')[0] ?? '')).toBe(true)
    expect(ended.stderr.match(/^error: .*$/gm)).toEqual([
      'error: No template none',
      'error: A runtime named mine exists.',
      'error: 9216 more would be too many.',
    ])
    expect(ended.stderr).toContain('--template: names no template')
    expect(ended.stderr).toContain('hint: List the templates: holt template ls')
    expect(ended.stderr).toContain('holt: the create would be refused\n')
    expect(service.runtimes.size).toBe(1)
  })

  test('prints the object of the API as JSON', async () => {
    const { code, stdout } = await runHolt(['create', '--dry-run', '--json', '-t', 'none'], { service })
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      { would_create: false, template: null, cpu: null, problems: [{ code: 'template_not_found' }] },
    ])
  })

  test('a malformed value is an error of the request', async () => {
    const ended = await runHolt(['create', '--dry-run', '--cpu', '999'], { service })
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('--cpu') })
  })
})

test('an unset variable that is passed on is reported', async () => {
  const env = { HOLT_URL: service.url, HOLT_API_KEY: service.key, HERE: '1' }
  const { code, stderr } = await runHolt(['create', '-e', 'MISSING', '-e', 'HERE', '-e', 'EMPTY='], { env })
  expect(code).toBe(0)
  expect(stderr.match(/^warning: .*$/gm)).toEqual(['warning: MISSING is not set here, so it is left out'])
  expect(service.calls.find(({ route }) => route === 'createRuntime')?.body).toMatchObject({
    env: { HERE: '1', EMPTY: '' },
  })
})

describe('ls', () => {
  test('is a plain table without colours when piped', async () => {
    const { runtime_id } = await holt.runtimes.create({ name: 'mine' })
    const { stdout } = await runHolt(['ls'], { service })
    expect(stdout).toMatch(/^RUNTIME +NAME +STATE +TEMPLATE +ISOLATION +CPU +MEMORY +AGE +NEXT\n/)
    expect(stdout).toMatch(new RegExp(`\n${runtime_id} +mine +running +base-small +gvisor +1 +1 GiB +\\d+s +-\n$`))
    expect(stdout).not.toContain('\u001b')
  })

  test('leaves out ended runtimes by default', async () => {
    await (await holt.runtimes.create({ name: 'gone' })).delete()
    expect(await runHolt(['ls'], { service })).toMatchObject({ stdout: '', stderr: expect.stringContaining('--all') })
    expect((await runHolt(['ls', '-a'], { service })).stdout).toContain('gone')
    expect((await runHolt(['ls', '--state', 'terminated', '-q'], { service })).stdout).toMatch(/^rt\w{20}\n$/)
  })

  test('reads no pages of ended runtimes', async () => {
    for (let count = 0; count < 101; count++) await (await holt.runtimes.create()).delete()
    const { runtime_id } = await holt.runtimes.create({ name: 'mine' })
    expect((await runHolt(['ls', '-q'], { service })).stdout).toBe(`${runtime_id}\n`)
    expect(service.count('listRuntimes')).toBe(1)
    expect((await runHolt(['get', 'mine', '--json'], { service })).stdout).toContain(runtime_id)
    expect(service.count('listRuntimes')).toBe(2)
  })

  test('prints the list of the API as JSON, filtered', async () => {
    await holt.runtimes.create({ name: 'a', metadata: { team: 'x' } })
    await holt.runtimes.create({ name: 'b', metadata: { team: 'y' } })
    const { stdout } = await runHolt(['ls', '--json', '-m', 'team=y'], { service })
    expect(JSON.parse(stdout)).toMatchObject({ data: [{ name: 'b', memory_mib: 1024 }], next_cursor: null })
  })
})

describe('rm', () => {
  const states = () => [...service.runtimes.values()].map(({ state }) => state)

  test('needs runtimes or --all; with --force none are enough', async () => {
    expect(await runHolt(['rm'], { service })).toMatchObject({ code: 2, stderr: expect.stringContaining('--all') })
    expect(await runHolt(['rm', '-f'], { service })).toMatchObject({ code: 0, stdout: '' })
  })

  test('with --force ignores missing runtimes, and deletes the others', async () => {
    await holt.runtimes.create({ name: 'mine' })
    expect(await runHolt(['rm', 'gone', 'mine', '-f'], { service })).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^gone is not there\nDeleted mine/),
    })
    expect(states()).toEqual(['terminated'])
    expect(JSON.parse((await runHolt(['rm', 'gone', '-f', '--json'], { service })).stdout).data).toEqual([])
    expect((await runHolt(['rm', 'gone'], { service })).code).toBe(1)
  })

  test('deletes all of them with --force', async () => {
    for (const name of ['a', 'b']) await holt.runtimes.create({ name })
    const refused = await runHolt(['rm', '--all'], { service })
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('holt rm --all -f') })
    expect(await runHolt(['rm', '--all', '-f', 'a'], { service })).toMatchObject({ code: 2 })
    expect(states()).toEqual(['running', 'running'])
    expect(await runHolt(['rm', '--all', '-f'], { service })).toMatchObject({ code: 0 })
    expect(states()).toEqual(['terminated', 'terminated'])
  })
})

test('logs --tail shows the last lines, and with --follow later ones', async () => {
  await holt.runtimes.create({ name: 'mine' })
  await runHolt(['exec', 'mine', '--', 'sh', '-c', 'seq 1 5'], { service })
  expect((await runHolt(['logs', 'mine', '-n', '2'], { service })).stdout).toBe('4\n5\n')
  expect(await runHolt(['logs', 'mine', '--tail', '1', '-f'], { service })).toEqual({
    code: 0,
    stdout: '5\n',
    stderr: '',
  })
  expect(await runHolt(['logs', 'mine', '--tail', 'x'], { service })).toMatchObject({ code: 2 })
})

test.each([
  ['logs mine -f', 'readOutput'],
  ['events -f', 'listEvents'],
  ['watch mine:/tmp', 'watchFiles'],
  ['net log mine -f', 'readNetworkLog'],
  ['stats mine -f', 'runtimeMetrics'],
])('Ctrl-C ends holt %s with the exit code of SIGINT', async (line, route) => {
  const runtime = await holt.runtimes.create({ name: 'mine' })
  const command = await runtime.commands.start('sleep 60')
  const child = startHolt(line.split(' '), { service })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'close')
  await vi.waitFor(() => expect(service.calls.map((call) => call.route)).toContain(route), 30_000)
  child.kill('SIGINT')
  const [code, signal] = await ended
  expect(code ?? signal).toBe(code === null ? 'SIGINT' : 130)
  await command.kill()
})

test('logs --since and --timestamps select lines by time, and show the times', async () => {
  const runtime = await holt.runtimes.create({ name: 'mine' })
  const command = await runtime.commands.start('echo 1; read -r _; echo 2; echo 3', { stdin: true })
  for await (const item of command.output()) {
    if (item.type !== 'stdout' || !item.data.startsWith('1')) continue
    await sleep(10) // The next lines are of a later millisecond.
    await command.writeStdin('\n')
  }
  const { stdout } = await runHolt(['logs', 'mine', '-t'], { service })
  expect(stdout).toMatch(/^(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \d\n){3}$/)
  const [first = '', second = ''] = stdout.split('\n')
  const since = second.split(' ')[0] ?? ''
  expect(first.split(' ')[0]).not.toBe(since)
  expect((await runHolt(['logs', 'mine', '--since', since], { service })).stdout).toBe('2\n3\n')
  const followed = await runHolt(['logs', 'mine', '--since', since, '-n', '1', '-f'], { service })
  expect(followed).toEqual({ code: 0, stdout: '3\n', stderr: '' })
  expect((await runHolt(['logs', 'mine', '-n', '2', '--timestamps'], { service })).stdout).toBe(
    stdout.slice(first.length + 1),
  )
  const items = (await runHolt(['logs', 'mine', '--since', since, '--json'], { service })).stdout.trim().split('\n')
  expect(items.map((line) => JSON.parse(line).data ?? '').join('')).toBe('2\n3\n')
  expect((await runHolt(['logs', 'mine', '--since', '1h'], { service })).stdout).toBe('1\n2\n3\n')
  expect(await runHolt(['logs', 'mine', '--since', 'soon'], { service })).toMatchObject({ code: 2 })
})

test.each([
  ['secret', async () => (await holt.secrets.set({ name: 's', value: 'x', hosts: ['a.example.com'] })).secret_id],
  ['policy', async () => (await holt.policies.create({ name: 'p', allow: [] })).policy_id],
])('%s ls -q prints only the ids', async (verb, make) => {
  expect((await runHolt([verb, 'ls', '-q'], { service })).stdout).toBe('')
  const id = await make()
  expect((await runHolt([verb, 'ls', '-q'], { service })).stdout).toBe(`${id}\n`)
})

test('a decimal amount is shown in the unit of the runtime, and docker units are accepted', async () => {
  const made = await runHolt(['create', '--memory', '512MB', '--disk', '8g', '--json'], { service })
  expect(made.stderr).toContain('holt: 512MB is 489 MiB\n')
  expect(made.stderr).not.toContain('8g')
  expect(JSON.parse(made.stdout)).toMatchObject({ memory_mib: 489, disk_mib: 8192 })
})

describe('a runtime is selected', () => {
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

  test('and shown without the address of the service, which is in its JSON', async () => {
    await holt.runtimes.create({ name: 'mine' })
    const { stdout } = await runHolt(['get', 'mine'], { service })
    expect(stdout).toMatch(/^name +mine$/m)
    expect(stdout).not.toMatch(/^(?:cloud|region) /m)
    expect(JSON.parse((await runHolt(['get', 'mine', '--json'], { service })).stdout)).toMatchObject({ cloud: 'aws' })
  })

  test('not by an ambiguous beginning', async () => {
    await holt.runtimes.create()
    await holt.runtimes.create()
    expect(await runHolt(['get', 'rt'], { service })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('beginning of 2 ids'),
    })
  })

  test('not by an unknown name', async () => {
    expect(await runHolt(['get', 'nobody'], { service })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: No runtime is named nobody.*\nhint: /),
    })
  })
})

test('rm deletes several, continues after a missing one, and fails', async () => {
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

  test('exec reads variables from a file, and --env takes precedence', async () => {
    await holt.runtimes.create({ name: 'mine' })
    const dir = await mkdtemp(join(tmpdir(), 'holt-env-'))
    onTestFinished(() => rm(dir, { recursive: true }))
    const [first, second] = [join(dir, 'first.env'), join(dir, 'second.env')]
    await writeFile(first, '# said twice\nA=1\nB="of two words"\nC=1\n')
    await writeFile(second, "C=2\nD='2'\n")
    const files = ['--env-file', first, `--env-file=${second}`]
    const print = ['mine', '--', 'sh', '-c', 'echo "$A $B $C $D"']
    expect(await runHolt(['exec', '-e', 'A=0', ...files, ...print], { service })).toEqual({
      code: 0,
      stdout: '0 of two words 2 2\n',
      stderr: '',
    })
    const missing = await runHolt(['exec', '--env-file', join(dir, 'none.env'), ...print], { service })
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringMatching(/none\.env.*cannot be read: ENOENT/) })
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

  test('exec exits with 125 if the runtime does not exist', async () => {
    expect((await runHolt(['exec', 'nobody', '--', 'true'], { service })).code).toBe(125)
  })
})

describe('stats', () => {
  test('is a table of all running runtimes', async () => {
    const { runtime_id } = await holt.runtimes.create({ name: 'mine' })
    await (await holt.runtimes.create({ name: 'away' })).pause()
    const { stdout } = await runHolt(['stats'], { service })
    expect(stdout).toMatch(/^RUNTIME +NAME +STATE +CPU +MEMORY +DISK +PROCESSES +SENT +RECEIVED\n/)
    expect(stdout).toMatch(
      new RegExp(
        `\n${runtime_id} +mine +running +0\\.25/1 +96\\.0 MiB/1\\.0 GiB +3\\.0 MiB/4\\.0 GiB +4 +2\\.0 KiB +5\\.0 MiB\n$`,
      ),
    )
    expect(stdout).not.toContain('away')
    expect([service.count('listRuntimeMetrics'), service.count('runtimeMetrics')]).toEqual([1, 0])
  })

  test('is of named runtimes, including paused ones', async () => {
    await (await holt.runtimes.create({ name: 'away' })).pause()
    expect((await runHolt(['stats', 'away'], { service })).stdout).toMatch(/ away +paused +- +- +- +- +- +-\n$/)
    expect((await runHolt(['stats', 'nobody'], { service })).code).toBe(1)
  })

  test('is a list of API objects with --json', async () => {
    const { runtime_id } = await holt.runtimes.create({ name: 'mine' })
    const { data } = JSON.parse((await runHolt(['stats', '--json'], { service })).stdout)
    expect(data).toEqual([expect.objectContaining({ runtime_id, state: 'running', samples: [] })])
  })

  test('has its titles once when it follows into a pipe', async () => {
    await holt.runtimes.create({ name: 'mine' })
    const child = startHolt(['stats', '-f', '-i', '0.5'], { service })
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    child.stdout.on('data', (part: Buffer) => {
      output += part
    })
    await vi.waitFor(() => expect(output.match(/ mine /g)?.length).toBeGreaterThan(2), { timeout: 30_000 })
    expect(output.match(/RUNTIME/g)).toEqual(['RUNTIME'])
  })

  test('refuses an interval that is too short', async () => {
    expect((await runHolt(['stats', '-f', '-i', '0'], { service })).code).toBe(2)
  })
})

test('a key is made in the form of E2B', async () => {
  expect(await runHolt(['key', 'create', 'agents', '--format', 'e2b'], { service })).toMatchObject({ code: 0 })
  expect([...service.keys.values()]).toMatchObject([{ name: 'agents', format: 'e2b' }])
})

test('keys are made, listed and revoked', async () => {
  const made = await runHolt(['key', 'create', 'ci', '--scope', 'runtime:read', 'template:read'], { service })
  expect(made).toMatchObject({ code: 0, stdout: 'holt_secret\n', stderr: expect.stringContaining('shown only once') })
  const [keyId = ''] = service.keys.keys()
  expect(service.keys.get(keyId)).toMatchObject({ scopes: ['runtime:read', 'template:read'] })
  expect((await runHolt(['key', 'ls'], { service })).stdout).toContain('runtime:read,template:read')
  await runHolt(['key', 'rotate', keyId], { service })
  expect((await runHolt(['key', 'ls'], { service })).stdout).toMatch(/EARLIER SECRET.*\n.* works until 20/)
  expect(await runHolt(['key', 'rm', keyId], { service })).toMatchObject({ code: 0 })
  expect(service.keys.size).toBe(0)
})

test('a key is found by its name, if the name is unique', async () => {
  for (const name of ['ci', 'viewer', 'twice', 'twice']) await holt.keys.create({ name })
  const [ci] = [...service.keys.values()].map(({ key_id }) => String(key_id))
  expect((await runHolt(['key', 'rotate', 'ci'], { service })).stderr).toContain(`Rotated ${ci}:`)
  const removed = await runHolt(['key', 'rm', 'ci', 'twice', 'nobody'], { service })
  expect(removed.code).toBe(1)
  expect(removed.stderr).toContain(`Revoked ci (${ci})\n`)
  expect(removed.stderr).toMatch(/error: 2 keys are named twice\. Give the id of one: ky\w+, ky\w+\n/)
  expect(removed.stderr).toContain('error: No key of the project is named nobody\nhint: List the keys: holt key ls\n')
  expect([...service.keys.values()].map(({ name }) => name)).toEqual(['viewer', 'twice', 'twice'])
})

test('a key of another project is shown with it', async () => {
  await holt.projects.create({ name: 'team' })
  await holt.keys.create({ name: 'ci', project: 'team' })
  expect((await runHolt(['key', 'rm', 'ci'], { service })).code).toBe(1)
  expect((await runHolt(['key', 'rotate', 'ci', '--project', 'team'], { service })).code).toBe(0)
  expect((await runHolt(['key', 'rm', 'ci', '--project', 'team'], { service })).code).toBe(0)
  expect(service.keys.size).toBe(0)
})

test('projects are created with quotas, shown, changed and deleted, and get keys', async () => {
  const quotas = ['--quota', 'runtimes=3', 'memory_mib=8GiB', 'cpu=none']
  const made = await runHolt(['project', 'create', 'team', ...quotas, '--json'], { service })
  expect(JSON.parse(made.stdout)).toMatchObject({ name: 'team', quotas: { runtimes: 3, memory_mib: 8192, cpu: null } })
  expect((await runHolt(['project', 'ls'], { service })).stdout).toMatch(/TIGHTEST.*\n.*team .* runtimes 0% /)
  const set = await runHolt(['project', 'set', 'team', '--quota', 'snapshot_bytes=1GiB', 'runtimes=none'], { service })
  expect(set.stdout).toMatch(/snapshot_bytes +0 B +1 GiB/)
  expect(set.stdout).toMatch(/runtimes +0 +no limit/)
  expect(await runHolt(['project', 'set', 'team', '--quota', 'apples=3'], { service })).toMatchObject({ code: 2 })
  const unsaid = await runHolt(['project', 'set', 'team'], { service })
  expect(unsaid).toMatchObject({ code: 2, stdout: '' })
  expect(unsaid.stderr).toMatch(/Give a change: --name, or --quota with runtimes, .*request_burst/)
  expect(await runHolt(['project', 'set', 'team', '--quota', 'runtimes=8GiB'], { service })).toMatchObject({ code: 2 })
  await runHolt(['key', 'create', 'ci', '--project', 'team', '--expires', '2030-01-01'], { service })
  const listed = await runHolt(['key', 'ls', '--project', 'team', '--json'], { service })
  const [key] = JSON.parse(listed.stdout).data
  expect(key).toMatchObject({ name: 'ci', expires_at: '2030-01-01T00:00:00.000Z' })
  const rotated = await runHolt(['key', 'rotate', key.key_id, '--overlap', 'none'], { service })
  expect(rotated).toMatchObject({ stdout: 'holt_another\n', stderr: expect.stringContaining('no longer works') })
  expect(await runHolt(['project', 'rm', 'team'], { service })).toMatchObject({ code: 0 })
  expect(service.projects.size).toBe(0)
})

test('whoami and status show the project and the use of its quotas', async () => {
  const { stdout } = await runHolt(['whoami'], { service })
  expect(stdout).toContain('admin of this machine')
  expect(stdout).toMatch(/runtimes +0 +10\n/)
  expect((await runHolt(['status'], { service })).stdout).toContain('runtimes: 0 of 10')
})

test('status counts all runtimes for an operator, and for others says that it counts one project', async () => {
  for (const [name, runtimes] of Object.entries({ a: 3, b: 4 })) {
    const project = await holt.projects.create({ name })
    service.projects.set(project.project_id, { ...project, use: { ...project.use, runtimes, paused_runtimes: 1 } })
  }
  const { stdout } = await runHolt(['status'], { service })
  expect(stdout).toContain('\nruntimes   7 of all projects (2), and 2 paused\n')
  const counted = JSON.parse((await runHolt(['status', '--json'], { service })).stdout)
  expect(counted.all_projects).toEqual({ projects: 2, runtimes: 7, paused_runtimes: 2 })
  service.scopes = ['admin']
  const alone = await runHolt(['status'], { service })
  expect(alone.stdout).toContain('for this project alone: a key with the scope operator')
  expect(JSON.parse((await runHolt(['status', '--json'], { service })).stdout).all_projects).toBeNull()
})

test('templates are listed and shown', async () => {
  expect((await runHolt(['template', 'ls'], { service })).stdout).toContain('base-small')
  expect(JSON.parse((await runHolt(['template', 'get', 'base-small', '--json'], { service })).stdout)).toMatchObject({
    name: 'base-small',
  })
})

test('status reports early that a service does not answer', async () => {
  service.faults.push({ route: 'readiness', type: 'hang' })
  const { code, stdout } = await runHolt(['status'], { service })
  expect(code).toBe(1)
  expect(stdout).toContain('does not answer')
})
