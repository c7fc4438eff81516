import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { RefillScheduler } from '../../../src/runtimes/pools/refill-scheduler.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function makeScheduler() {
  const refills: boolean[] = []
  return { scheduler: new RefillScheduler((busy) => refills.push(busy)), refills }
}

test('refills at once if no create is in progress', () => {
  const { scheduler, refills } = makeScheduler()
  scheduler.request()
  expect(refills).toEqual([false])
})

test('waits for creates in progress, and refills after the last one', () => {
  const { scheduler, refills } = makeScheduler()
  const creates = [scheduler.creating(), scheduler.creating()]
  scheduler.request()
  creates[0]?.[Symbol.dispose]()
  expect(refills).toEqual([])
  creates[1]?.[Symbol.dispose]()
  expect(refills).toEqual([false])
})

test('waits for at most a quarter of a second', () => {
  const { scheduler, refills } = makeScheduler()
  using _create = scheduler.creating()
  scheduler.request()
  vi.advanceTimersByTime(249)
  scheduler.request() // A later request does not make the first one wait longer.
  expect(refills).toEqual([])
  vi.advanceTimersByTime(1)
  expect(refills).toEqual([true])
})

test('refills once more after the creates that delayed it', () => {
  const { scheduler, refills } = makeScheduler()
  const create = scheduler.creating()
  scheduler.request()
  vi.advanceTimersByTime(250)
  expect(refills).toEqual([true])
  create[Symbol.dispose]()
  expect(refills).toEqual([true, false])
  scheduler.creating()[Symbol.dispose]()
  expect(refills).toEqual([true, false])
})

test('refills every quarter of a second under continuous creates', () => {
  const { scheduler, refills } = makeScheduler()
  let create = scheduler.creating()
  for (let passedMs = 0; passedMs < 10_000; passedMs += 50) {
    const next = scheduler.creating()
    create[Symbol.dispose]()
    create = next
    scheduler.request()
    vi.advanceTimersByTime(50)
  }
  expect(refills).toEqual(Array(40).fill(true))
})

test('does nothing without a request', () => {
  const { scheduler, refills } = makeScheduler()
  scheduler.creating()[Symbol.dispose]()
  scheduler.creating()[Symbol.dispose]()
  expect(refills).toEqual([])
})

test('does not refill after it is closed', () => {
  const { scheduler, refills } = makeScheduler()
  using _create = scheduler.creating()
  scheduler.request()
  scheduler.close()
  vi.advanceTimersByTime(1000)
  expect(refills).toEqual([])
})
