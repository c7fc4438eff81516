import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt, type Runtime } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { runHolt } from '../support/run-holt.ts'

let service: TestService
let holt: Holt
let mine: Runtime
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key })
  mine = await holt.runtimes.create({ name: 'mine', metadata: { team: 'x', ticket: '1' } })
})
afterEach(() => service.close())

const run = (...args: string[]) => runHolt(args, { service })
const stateOf = (runtime: Runtime) => service.runtimes.get(runtime.runtime_id)?.state

describe('pause and resume', () => {
  test('continue after a missing runtime, and fail', async () => {
    const other = await holt.runtimes.create()
    const paused = await run('pause', 'nobody', 'mine', other.runtime_id)
    expect(paused).toMatchObject({ code: 1, stdout: '' })
    expect(paused.stderr).toContain(`Paused mine (${mine.runtime_id})\nPaused ${other.runtime_id}\n`)
    expect([stateOf(mine), stateOf(other)]).toEqual(['paused', 'paused'])
    const resumed = await run('resume', 'mine', '--json')
    expect(resumed).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(resumed.stdout).data).toMatchObject([{ name: 'mine', state: 'running', paused_at: null }])
  })

  test('a paused runtime is listed, and found by its name and the beginning of its id', async () => {
    await mine.pause()
    expect((await run('ls')).stdout).toMatch(/ mine +paused .* resumes when used\n$/)
    expect((await run('ls', '--state', 'paused', '-q')).stdout).toBe(`${mine.runtime_id}\n`)
    expect(await run('resume', mine.runtime_id.slice(0, 9))).toMatchObject({ code: 0 })
    expect(stateOf(mine)).toBe('running')
  })

  test('exec resumes a paused runtime, or says how to', async () => {
    await mine.pause()
    expect(await run('exec', 'mine', '--', 'echo', 'hi')).toMatchObject({ code: 0, stdout: 'hi\n' })
    expect(await run('set', 'mine', '--no-auto-resume')).toMatchObject({ code: 0 })
    await mine.pause()
    const refused = await run('exec', 'mine', '--', 'true')
    expect(refused).toMatchObject({
      code: 125,
      stderr: expect.stringContaining(`hint: Resume the runtime: holt resume ${mine.runtime_id}\n`),
    })
  })
})

describe('set', () => {
  test('changes the deadline and labels, and prints the result', async () => {
    const set = await run(
      'set',
      'mine',
      '--timeout',
      '2h',
      '--idle-timeout',
      '10m',
      '-m',
      'a=b',
      '--drop-metadata',
      'ticket',
    )
    expect(set).toMatchObject({ code: 0, stdout: '' })
    expect(set.stderr).toMatch(/^Changed mine \(\w+\): it pauses in 2h or when idle for 10m\n$/)
    expect(service.runtimes.get(mine.runtime_id)).toMatchObject({
      timeout_secs: 7200,
      idle_timeout_secs: 600,
      metadata: { team: 'x', a: 'b' },
    })
    expect(await run('set', 'mine', '--timeout', 'none', '--on-timeout', 'terminate', '--json')).toMatchObject({
      code: 0,
    })
    expect(service.runtimes.get(mine.runtime_id)).toMatchObject({ timeout_secs: null, on_timeout: 'terminate' })
  })

  test('without a change is wrong usage', async () => {
    expect(await run('set', 'mine')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Give a change: '),
    })
  })
})

describe('fork', () => {
  test('prints the ids of the children', async () => {
    const forked = await run('fork', 'mine', '--count', '2', '-m', 'try=1', '--timeout', '5m')
    expect(forked).toMatchObject({ code: 0, stderr: '' })
    const ids = forked.stdout.trim().split('\n')
    expect(ids.map((id) => service.runtimes.get(id))).toMatchObject([
      { parent_id: mine.runtime_id, metadata: { try: '1' }, timeout_secs: 300 },
      { parent_id: mine.runtime_id },
    ])
  })

  test('reports the children that failed, and fails', async () => {
    service.childErrors.push({ code: 'capacity_exhausted', message: 'No memory is left.', hint: 'Wait.' })
    const forked = await run('fork', 'mine', '-c', '2')
    expect(forked.code).toBe(1)
    expect(forked.stdout).toMatch(/^rt\w{20}\n$/)
    expect(forked.stderr).toBe('error: No memory is left.\nhint: Wait.\nholt: 1 of 2 children could not be made\n')
  })

  test('reports with --dry-run how many children fit, and creates none', async () => {
    const { size } = service.runtimes
    expect(await run('fork', 'mine', '--dry-run')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^children +1$/m),
      stderr: 'holt: the fork would work; nothing was made\n',
    })
    service.childErrors.push({ code: 'capacity_exhausted', message: 'No memory is left.', hint: 'Wait.' })
    const forked = await run('fork', 'mine', '-c', '2', '--dry-run', '--json')
    expect([forked.code, JSON.parse(forked.stdout)]).toMatchObject([1, { would_create: false, count: 2, children: 1 }])
    expect(forked.stderr).toBe('error: No memory is left.\nhint: Wait.\nholt: 1 of 2 children would be made\n')
    expect(service.runtimes.size).toBe(size)
  })

  test.each(['0', '101', 'x'])('of %s children is wrong usage', async (count) => {
    expect(await run('fork', 'mine', '-c', count)).toMatchObject({ code: 2 })
  })
})

describe('snapshot', () => {
  test('is created, used and deleted', async () => {
    const taken = await run('snapshot', 'create', 'mine', '-n', 'before')
    expect(taken).toMatchObject({ code: 0, stderr: 'Kept memory and files of mine, 64 MiB\n' })
    const id = taken.stdout.trim()
    expect(service.snapshots.get(id)).toMatchObject({ name: 'before', kind: 'memory' })
    expect(await run('create', '--snapshot', 'before')).toMatchObject({ code: 0 })
    expect([...service.runtimes.values()].at(-1)).toMatchObject({ snapshot_id: id })
    expect(await run('snapshot', 'rm', 'nothing', 'before')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /hint: List the snapshots: holt snapshot ls\nrequest: .*\nDeleted before\nfailed: nothing\n$/,
      ),
    })
    expect(service.snapshots.has(id)).toBe(false)
  })

  test('keeps a record of the files with --record-files', async () => {
    for (const args of [
      ['snapshot', 'create', 'mine'],
      ['fork', 'mine'],
    ]) {
      const bodies: unknown[] = []
      for (const more of [[], ['--record-files']]) {
        expect(await run(...args, ...more)).toMatchObject({ code: 0 })
        bodies.push(service.calls.at(-1)?.body)
      }
      expect(bodies[0]).not.toHaveProperty('record_files')
      expect(bodies[1]).toMatchObject({ record_files: true })
    }
  })

  test('of files is requested by its kind', async () => {
    const files = (await run('snapshot', 'create', 'mine', '--kind', 'filesystem', '--json')).stdout
    expect(JSON.parse(files)).toMatchObject({ kind: 'filesystem', name: null })
  })

  test('is listed and shown', async () => {
    const { snapshot_id: id } = await mine.snapshot({ name: 'before' })
    const listed = (await run('snapshot', 'ls')).stdout
    expect(listed).toMatch(new RegExp(`\n${id} +before +memory +no +ready +${mine.runtime_id} +base-small .* 64 MiB `))
    expect((await run('snapshot', 'ls', '--of', 'mine', '--kind', 'memory', '-q')).stdout).toBe(`${id}\n`)
    expect((await run('snapshot', 'get', 'before')).stdout).toMatch(
      /^snapshot_id +sn\w+\nname +before\nkind +memory\nrecord_files +false\n/,
    )
  })

  test('shows whether a diff can compare with it', async () => {
    await mine.snapshot({ name: 'recorded', record_files: true })
    await mine.snapshot({ name: 'files', kind: 'filesystem' })
    const listed = (await run('snapshot', 'ls')).stdout
    expect(listed).toMatch(/ recorded +memory +yes +ready /)
    expect(listed).toMatch(/ files +filesystem +- +ready /)
  })

  test('of a deleted runtime is listed by its id', async () => {
    const { snapshot_id } = await mine.snapshot()
    await mine.delete()
    expect((await run('snapshot', 'ls', '--of', mine.runtime_id, '-q')).stdout).toBe(`${snapshot_id}\n`)
  })

  test('an empty list says how to create one', async () => {
    expect(await run('snapshot', 'ls')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No snapshots. Take one: holt snapshot create RUNTIME\n',
    })
  })

  test('a create takes either a template or a snapshot', async () => {
    expect(await run('create', '-t', 'base-small', '--snapshot', 'x')).toMatchObject({ code: 2 })
  })
})

describe('the lifetime of', () => {
  const bodyOf = () => service.calls.filter(({ route }) => route === 'createRuntime').at(-1)?.body

  test('a new runtime is as requested', async () => {
    await run('create', '--timeout', '15m', '--on-timeout', 'terminate', '--idle-timeout', '60', '--no-auto-resume')
    const asked = { timeout_secs: 900, on_timeout: 'terminate', idle_timeout_secs: 60, auto_resume: false }
    expect(bodyOf()).toMatchObject(asked)
  })

  test('a runtime for one command never pauses, and ends after its time limit', async () => {
    await run('run', '--', 'true')
    expect(bodyOf()).toMatchObject({ timeout_secs: null, on_timeout: 'terminate' })
    await run('run', '--timeout', '30', '--', 'true')
    expect(bodyOf()).toMatchObject({ timeout_secs: 630, on_timeout: 'terminate' })
    expect(await run('run', '--idle-timeout', '60', '--', 'true')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('add --no-rm'),
    })
  })

  test('a runtime that outlives its command is as requested', async () => {
    await run('run', '--no-rm', '--runtime-timeout', '2h', '--timeout', '30', '--', 'true')
    expect(bodyOf()).toMatchObject({ timeout_secs: 7200 })
    expect(bodyOf()).not.toHaveProperty('on_timeout')
  })
})
