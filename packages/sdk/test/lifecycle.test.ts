import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt, HoltApiError, type Runtime } from '../src/index.ts'
import { startTestService, type TestService } from './support/test-service.ts'

let service: TestService
let holt: Holt
let runtime: Runtime
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key })
  runtime = await holt.runtimes.create({ name: 'source' })
})
afterEach(() => service.close())

describe('pause and resume', () => {
  test('update the handle', async () => {
    await runtime.pause()
    expect(runtime).toMatchObject({ state: 'paused', expires_at: null, paused_at: expect.any(String) })
    await runtime.resume()
    expect(runtime).toMatchObject({ state: 'running', paused_at: null })
  })

  test.each(['pauseRuntime', 'resumeRuntime'] as const)('%s is repeated if its answer is lost', async (route) => {
    service.faults.push({ route, type: 'lose' })
    await (route === 'pauseRuntime' ? runtime.pause() : runtime.resume())
    expect(service.count(route)).toBe(2)
  })

  test('a command resumes a paused runtime, unless auto_resume is off', async () => {
    await runtime.pause()
    expect((await runtime.commands.run('true')).exit_code).toBe(0)
    await runtime.update({ auto_resume: false })
    await runtime.pause()
    await expect(runtime.commands.run('true')).rejects.toMatchObject({ code: 'runtime_paused' })
    expect(service.count('startCommand')).toBe(2)
  })

  test('a class without memory checkpoints gives an error', async () => {
    const container = await holt.runtimes.create({ isolation: 'container' })
    await expect(container.pause()).rejects.toMatchObject({ code: 'not_supported_here' })
  })
})

describe('snapshots', () => {
  test('are created, listed, read, used and deleted', async () => {
    const taken = await runtime.snapshot({ name: 'before', kind: 'filesystem' })
    expect(taken).toMatchObject({ name: 'before', kind: 'filesystem', runtime_id: runtime.runtime_id, state: 'ready' })
    const memory = await runtime.snapshot()
    expect(memory.kind).toBe('memory')
    expect((await holt.snapshots.list().all()).map(({ snapshot_id }) => snapshot_id)).toEqual([
      memory.snapshot_id,
      taken.snapshot_id,
    ])
    expect(await holt.snapshots.list({ kind: 'filesystem', runtime_id: runtime.runtime_id }).all()).toEqual([taken])
    expect(await holt.snapshots.get('before')).toEqual(taken)
    const second = await holt.runtimes.create({ snapshot: 'before' })
    expect(second).toMatchObject({ snapshot_id: taken.snapshot_id, template: { name: 'base-small' } })
    await holt.snapshots.delete('before')
    await expect(holt.snapshots.get('before')).rejects.toMatchObject({ code: 'snapshot_not_found' })
  })

  test('a lost answer makes no second one', async () => {
    service.faults.push({ route: 'createSnapshot', type: 'lose' })
    const { snapshot_id } = await runtime.snapshot()
    expect(service.count('createSnapshot')).toBe(2)
    expect([...service.snapshots.keys()]).toEqual([snapshot_id])
  })

  test('a snapshot in progress is waited for, longer than retries last', async () => {
    const patient = new Holt({ url: service.url, apiKey: service.key, maxRetries: 0 })
    const source = await patient.runtimes.get(runtime.runtime_id)
    for (let times = 0; times < 3; times += 1)
      service.faults.push({ route: 'createSnapshot', type: 'refuse', code: 'idempotency_in_progress' })
    await source.snapshot()
    expect(service.count('createSnapshot')).toBe(4)
  })

  test('a create takes either a template or a snapshot', async () => {
    await expect(holt.runtimes.create({ template: 'base-small', snapshot: 'x' })).rejects.toMatchObject({
      code: 'invalid_request',
      details: { issues: [{ pointer: '/snapshot' }] },
    })
  })
})

describe('a fork', () => {
  const unlucky = { code: 'capacity_exhausted', message: 'No memory is left.', hint: 'Wait.' }

  test('has a handle for each child', async () => {
    const fork = await runtime.fork({ count: 3, metadata: { role: 'child' }, timeout_secs: 60 })
    expect(fork.errors).toEqual([])
    expect(fork.runtimes.map(({ parent_id, name }) => [parent_id, name])).toEqual(
      Array.from({ length: 3 }, () => [runtime.runtime_id, null]),
    )
    const [child] = fork.runtimes
    expect(child).toMatchObject({ metadata: { role: 'child' }, timeout_secs: 60 })
    expect((await child?.commands.run('echo here'))?.stdout).toBe('here\n')
  })

  test('reports with a dry run how many children fit, and creates none', async () => {
    const { size } = service.runtimes
    expect(await runtime.dryRunFork({ count: 3 })).toMatchObject({ would_create: true, count: 3, children: 3 })
    service.childErrors.push(unlucky)
    expect(await runtime.dryRunFork({ count: 3 })).toMatchObject({
      would_create: false,
      children: 2,
      problems: [unlucky],
    })
    expect(service.runtimes.size).toBe(size)
    const body = { dry_run: true }
    await expect(runtime.fork(body as object)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('has an error for a child that failed, and the others', async () => {
    service.childErrors.push(unlucky)
    const fork = await runtime.fork({ count: 2 })
    expect(fork.runtimes).toHaveLength(1)
    expect(fork.errors).toEqual([expect.any(HoltApiError)])
    expect(fork.errors[0]).toMatchObject({ ...unlucky, httpStatus: 503 })
    expect(fork.results.map(({ runtime: child }) => child === null)).toEqual([true, false])
    expect(JSON.parse(JSON.stringify(fork)).data[0]).toEqual({ runtime: null, error: unlucky })
  })

  test('of a newer service can have unknown error codes', async () => {
    service.childErrors.push({ ...unlucky, code: 'brand_new' })
    expect((await runtime.fork()).errors).toMatchObject([{ code: 'internal', wireCode: 'brand_new' }])
  })

  test('is deleted with its scope', async () => {
    let ids: string[] = []
    {
      await using fork = await runtime.fork({ count: 2 })
      ids = fork.runtimes.map(({ runtime_id }) => runtime_id)
    }
    expect(ids.map((id) => service.runtimes.get(id)?.state)).toEqual(['terminated', 'terminated'])
    expect(service.runtimes.get(runtime.runtime_id)).toMatchObject({ state: 'running' })
  })

  test('with a lost answer makes no second children', async () => {
    service.faults.push({ route: 'forkRuntime', type: 'lose' })
    await runtime.fork({ count: 2 })
    expect(service.count('forkRuntime')).toBe(2)
    expect(service.runtimes.size).toBe(3)
  })

  test('of too many children is refused', async () => {
    await expect(runtime.fork({ count: 101 })).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

test('deadlines are set at a create and changed later', async () => {
  const given = { timeout_secs: 600, on_timeout: 'terminate', idle_timeout_secs: 60, auto_resume: false } as const
  const timed = await holt.runtimes.create(given)
  expect(timed).toMatchObject(given)
  const before = Date.now()
  await timed.update({ timeout_secs: 7200, on_timeout: 'pause', idle_timeout_secs: null })
  expect(timed).toMatchObject({ timeout_secs: 7200, on_timeout: 'pause', idle_timeout_secs: null, auto_resume: false })
  expect(Date.parse(timed.expires_at ?? '')).toBeGreaterThanOrEqual(before + 7200_000)
})

test('metrics are read for a window, and a paused runtime has none', async () => {
  const metrics = await runtime.metrics({ window_secs: 60, step_secs: 20 })
  expect(metrics).toMatchObject({ runtime_id: runtime.runtime_id, step_secs: 20, samples: [{ cpu: { rate: 0.25 } }] })
  expect((await runtime.metrics()).samples).toEqual([])
  await runtime.pause()
  expect(await runtime.metrics()).toMatchObject({ state: 'paused', now: null })
})

test('metrics of many runtimes are those that run, or those with the ids', async () => {
  const others = [await holt.runtimes.create(), await holt.runtimes.create()]
  await others[0]?.pause()
  const idsOf = (list: readonly { readonly runtime_id: string }[]) => list.map(({ runtime_id }) => runtime_id)
  const running = await holt.runtimes.metrics({ limit: 1, window_secs: 60 }).all()
  expect(idsOf(running)).toEqual([others[1]?.runtime_id, runtime.runtime_id])
  expect(running[0]?.samples).toHaveLength(1)
  const wanted = idsOf(others)
  expect(idsOf(await holt.runtimes.metrics({ runtime_id: wanted }).all()).toSorted()).toEqual(wanted.toSorted())
  expect(idsOf(await holt.runtimes.list({ runtime_id: wanted.slice(1) }).all())).toEqual(wanted.slice(1))
})
