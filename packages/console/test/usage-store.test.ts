import { type Holt, HoltError, type RuntimeMetrics, type RuntimeSample } from '@holt/sdk'
import { beforeEach, expect, test, vi } from 'vitest'
import { UsageStore } from '../src/runtimes/usage-store.ts'

interface Asked {
  readonly runtime_id: readonly string[]
  readonly window_secs?: number
}

const asked: Asked[] = []
let isHidden = false
let answer: (ids: readonly string[]) => Promise<RuntimeMetrics[]>
const holt = {
  runtimes: {
    metrics: (request: Asked) => {
      asked.push(request)
      return { all: () => answer(request.runtime_id) }
    },
  },
} as unknown as Holt

beforeEach(() => {
  vi.useFakeTimers({ now: 1_700_000_000_000 })
  isHidden = false
  asked.length = 0
  answer = async (ids) => ids.map(metricsOf)
  return () => void vi.useRealTimers()
})

function metricsOf(id: string): RuntimeMetrics {
  return {
    runtime_id: id,
    limits: { cpu: 2, memory_bytes: 100 },
    now: { at: new Date().toISOString(), cpu: { rate: 0.5 }, memory: { used_bytes: 50 } } as RuntimeSample,
    samples: [],
  } as unknown as RuntimeMetrics
}

test('all rows in sight are read with one request: first the last minutes, then the present', async () => {
  const store = new UsageStore(holt, () => isHidden)
  const end = store.start()
  const told = vi.fn()
  const leave = store.subscribe('a', told)
  store.subscribe('b', told)
  await vi.advanceTimersByTimeAsync(200)
  expect(asked).toMatchObject([{ runtime_id: ['a', 'b'], window_secs: 600 }])
  expect([told.mock.calls.length, store.get('a')?.points.length]).toEqual([2, 1])
  leave()
  store.subscribe('c', told)
  await vi.advanceTimersByTimeAsync(200)
  expect(asked.slice(1)).toMatchObject([{ runtime_id: ['c'], window_secs: 600 }, { runtime_id: ['b'] }])
  expect(asked[2]).not.toHaveProperty('window_secs')
  await vi.advanceTimersByTimeAsync(5_000)
  expect(store.get('c')?.points.length).toBe(2)
  end()
  const count = asked.length
  await vi.advanceTimersByTimeAsync(60_000)
  expect(asked.length).toBe(count)
})

test('points leave after ten minutes, and hundreds of rows are several requests', async () => {
  const store = new UsageStore(holt, () => isHidden)
  const end = store.start()
  for (let at = 0; at < 150; at += 1) store.subscribe(`r${at}`, () => {})
  await vi.advanceTimersByTimeAsync(200)
  expect(asked.map(({ runtime_id }) => runtime_id.length)).toEqual([100, 50])
  await vi.advanceTimersByTimeAsync(1_200_000)
  expect(store.get('r0')?.points.length).toBeLessThanOrEqual(122)
  expect(store.get('r0')?.points.length).toBeGreaterThan(100)
  end()
})

test('a hidden page reads nothing, a failed read is tried again, and a host that cannot measure is not', async () => {
  const store = new UsageStore(holt, () => isHidden)
  const end = store.start()
  isHidden = true
  store.subscribe('a', () => {})
  await vi.advanceTimersByTimeAsync(10_000)
  expect(asked).toEqual([])
  isHidden = false
  answer = () => Promise.reject(new TypeError('Failed to fetch'))
  await vi.advanceTimersByTimeAsync(10_000)
  expect(asked.length).toBe(2)
  answer = () => Promise.reject(new HoltError('not_supported_here', 'This host does not measure.'))
  await vi.advanceTimersByTimeAsync(60_000)
  expect(asked.length).toBe(3)
  end()
})
