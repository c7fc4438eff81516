import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt } from '../src/index.ts'
import { startTestService, type TestService } from './support/test-service.ts'

let service: TestService
let holt: Holt
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key, maxRetries: 0 })
})
afterEach(() => service.close())

/** Sets the state of the runtime with an id. */
function setState(runtimeId: string, state: string): void {
  Object.assign(service.runtimes.get(runtimeId) ?? {}, { state })
}

describe('a runtime is found', () => {
  test('by its id, and by its name', async () => {
    const { runtime_id } = await holt.runtimes.create({ name: 'box' })
    await expect(holt.runtimes.get(runtime_id)).resolves.toMatchObject({ runtime_id, name: 'box' })
    expect(service.count('listRuntimes')).toBe(0)
    await expect(holt.runtimes.get('box')).resolves.toMatchObject({ runtime_id })
  })

  test('by a name that an ended runtime had before', async () => {
    const first = await holt.runtimes.create({ name: 'box' })
    await first.delete()
    const failed = await holt.runtimes.create({ name: 'box' })
    setState(failed.runtime_id, 'failed')
    await expect(holt.runtimes.get('box')).resolves.toMatchObject({ runtime_id: failed.runtime_id })
    const { runtime_id } = await holt.runtimes.create({ name: 'box' })
    await expect(holt.runtimes.get('box')).resolves.toMatchObject({ runtime_id })
  })

  test('not by the name of an ended runtime', async () => {
    const runtime = await holt.runtimes.create({ name: 'box' })
    await runtime.delete()
    for (const name of ['box', 'other'])
      await expect(holt.runtimes.get(name)).rejects.toMatchObject({ code: 'runtime_not_found' })
  })
})

describe('getOrCreate', () => {
  test('creates one, and later returns it with its settings', async () => {
    const made = await holt.runtimes.getOrCreate({ name: 'box', cpu: 2 })
    const got = await holt.runtimes.getOrCreate({ name: 'box', cpu: 1 })
    expect(got).toMatchObject({ runtime_id: made.runtime_id, cpu: made.cpu })
    expect(service.count('createRuntime')).toBe(1)
  })

  test('gives concurrent callers the same runtime', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => holt.runtimes.getOrCreate({ name: 'box' })))
    expect(new Set(all.map(({ runtime_id }) => runtime_id)).size).toBe(1)
    expect(service.runtimes.size).toBe(1)
    expect(service.count('createRuntime')).toBeGreaterThan(1)
  })

  test('waits for one that another caller is starting', async () => {
    const { runtime_id } = await holt.runtimes.create({ name: 'box' })
    setState(runtime_id, 'starting')
    let lists = 0
    service.onCall = (route) => {
      if (route === 'listRuntimes' && ++lists === 3) setState(runtime_id, 'running')
    }
    await expect(holt.runtimes.getOrCreate({ name: 'box' })).resolves.toMatchObject({ runtime_id, state: 'running' })
    expect(service.count('createRuntime')).toBe(1)
  })

  test.each(['terminating', 'failed'])('creates another one after one that is %s', async (state) => {
    const { runtime_id } = await holt.runtimes.create({ name: 'box' })
    setState(runtime_id, state)
    service.onCall = (route) => {
      if (state === 'terminating' && route === 'createRuntime' && service.count(route) === 3)
        setState(runtime_id, 'terminated')
    }
    const made = await holt.runtimes.getOrCreate({ name: 'box' })
    expect(made.runtime_id).not.toBe(runtime_id)
  })

  test('returns a paused one unchanged', async () => {
    const { runtime_id } = await holt.runtimes.create({ name: 'box' })
    setState(runtime_id, 'paused')
    await expect(holt.runtimes.getOrCreate({ name: 'box' })).resolves.toMatchObject({ runtime_id, state: 'paused' })
  })

  test('gives up on one that never starts, at the time limit of requests', async () => {
    const hasty = new Holt({ url: service.url, apiKey: service.key, timeoutSecs: 0.3 })
    const { runtime_id } = await holt.runtimes.create({ name: 'box' })
    setState(runtime_id, 'starting')
    await expect(hasty.runtimes.getOrCreate({ name: 'box' })).rejects.toMatchObject({ code: 'timeout' })
  })
})
