import { EngineError } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { inside } from '../../support/inside.ts'
import { readMetrics } from '../../support/read-metrics.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

const forks = 30

/**
 * Starts a server whose first checkpoint waits for a number of fork requests. Counts checkpoints.
 */
async function serverThatWaits(fail: () => boolean = () => false) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const counts = { taken: 0, restoring: 0, mostRestoring: 0 }
  let begun = false // The service takes checkpoints of its templates first.
  const engine = new FakeEngine({
    before: async (verb) => {
      if (!begun) return
      if (verb === 'take') {
        counts.taken += 1
        if (counts.taken === 1) await released
        if (fail()) throw new EngineError('no_space', 'no room')
      }
      if (verb !== 'ensure') return
      counts.restoring += 1
      counts.mostRestoring = Math.max(counts.mostRestoring, counts.restoring)
      await new Promise((resolve) => setImmediate(resolve))
      counts.restoring -= 1
    },
  })
  const server = await startTestServer({ engine })
  begun = true
  const waiting = async (count: number) => expect.poll(() => openRequests(server)).toBeGreaterThan(count)
  return { server, counts, release, waiting }
}

/** Returns the number of requests that have arrived and are not answered. */
async function openRequests({ ask }: TestServer): Promise<number> {
  const metric = readMetrics((await ask('GET', '/metrics')).text).get('holt_http_requests_open')
  return (metric?.samples ?? []).reduce((total, { value }) => total + value, 0)
}

const askForForks = ({ ask }: TestServer, id: string, count: number, json: object = {}) =>
  Array.from({ length: count }, () => ask('POST', `/v1/agents/runtime/${id}/fork`, { json }))

const checkpointsOf = async ({ engine }: TestServer) => (await engine.ability('checkpoints')?.list())?.length

test('concurrent forks share one checkpoint, which is newer than each request', async () => {
  const { server, counts, release, waiting } = await serverThatWaits()
  const source = await server.makeRuntime()
  const before = await checkpointsOf(server)
  const { write, read } = inside(server)
  await write(source, '/workspace/a', 'first')
  const first = askForForks(server, source, 1)
  await expect.poll(() => counts.taken).toBe(1)
  const others = askForForks(server, source, forks - 1)
  await waiting(forks)
  release()
  const answers = await Promise.all([...first, ...others])
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
  expect(answers.flatMap(({ json }) => json.data).filter(({ error }) => error !== null)).toEqual([])
  expect(counts.taken).toBe(2)
  expect(await checkpointsOf(server)).toBe(before)
  await write(source, '/workspace/a', 'second')
  const [later] = await Promise.all(askForForks(server, source, 1))
  expect(await read(later?.json.data[0].runtime.runtime_id, '/workspace/a')).toBe('second')
  expect(counts.taken).toBe(3)
})

test('concurrent forks share a checkpoint only if they agree on the record of files', async () => {
  const { server, counts, release, waiting } = await serverThatWaits()
  const source = await server.makeRuntime()
  const first = askForForks(server, source, 1)
  await expect.poll(() => counts.taken).toBe(1)
  const others = [true, false].map((record_files) => Promise.all(askForForks(server, source, 3, { record_files })))
  await waiting(7)
  release()
  await Promise.all(first)
  const bases: string[] = []
  for (const { json } of (await Promise.all(others)).flat()) {
    const { runtime_id } = json.data[0].runtime
    bases.push((await server.ask('GET', `/v1/agents/runtime/${runtime_id}/diff`)).json.since.type)
  }
  expect(bases).toEqual([...Array(3).fill('fork'), ...Array(3).fill('template')])
  expect(counts.taken).toBe(3)
})

test('a failed checkpoint fails all its forks and leaves nothing', async () => {
  let fails = true
  const { server, counts, release, waiting } = await serverThatWaits(() => fails)
  const source = await server.makeRuntime()
  const before = await checkpointsOf(server)
  const first = askForForks(server, source, 1)
  await expect.poll(() => counts.taken).toBe(1)
  const others = askForForks(server, source, 5)
  await waiting(6)
  release()
  const answers = await Promise.all([...first, ...others])
  expect(answers.map(({ json }) => json.error.code)).toEqual(Array(6).fill('disk_full'))
  expect(counts.taken).toBe(2)
  expect(await checkpointsOf(server)).toBe(before)
  fails = false
  const [answer] = await Promise.all(askForForks(server, source, 1))
  expect(answer?.status).toBe(201)
})

test('children of many forks are created a few at a time', async () => {
  const { server, counts, release } = await serverThatWaits()
  release()
  const source = await server.makeRuntime()
  const answers = await Promise.all(askForForks(server, source, 5, { count: 6 }))
  expect(answers.flatMap(({ json }) => json.data)).toHaveLength(30)
  expect(counts.mostRestoring).toBeGreaterThan(1)
  expect(counts.mostRestoring).toBeLessThanOrEqual(8)
})
