import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { RefillGate } from '../../../src/runtimes/pools/refill-gate.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function gate() {
  const refills: boolean[] = []
  return { gate: new RefillGate((busy) => refills.push(busy)), refills }
}

test('refills at once if no create is in progress', () => {
  const { gate: open, refills } = gate()
  open.wish()
  expect(refills).toEqual([false])
})

test('waits for creates in progress, and refills after the last one', () => {
  const { gate: held, refills } = gate()
  const creates = [held.holdBack(), held.holdBack()]
  held.wish()
  creates[0]?.[Symbol.dispose]()
  expect(refills).toEqual([])
  creates[1]?.[Symbol.dispose]()
  expect(refills).toEqual([false])
})

test('waits for at most a quarter of a second', () => {
  const { gate: held, refills } = gate()
  using _create = held.holdBack()
  held.wish()
  vi.advanceTimersByTime(249)
  held.wish() // A later wish does not make the first one wait longer.
  expect(refills).toEqual([])
  vi.advanceTimersByTime(1)
  expect(refills).toEqual([true])
})

test('refills once more after the creates that delayed it', () => {
  const { gate: held, refills } = gate()
  const create = held.holdBack()
  held.wish()
  vi.advanceTimersByTime(250)
  expect(refills).toEqual([true])
  create[Symbol.dispose]()
  expect(refills).toEqual([true, false])
  held.holdBack()[Symbol.dispose]()
  expect(refills).toEqual([true, false])
})

test('refills every quarter of a second under continuous creates', () => {
  const { gate: held, refills } = gate()
  let create = held.holdBack()
  for (let passedMs = 0; passedMs < 10_000; passedMs += 50) {
    const next = held.holdBack()
    create[Symbol.dispose]()
    create = next
    held.wish()
    vi.advanceTimersByTime(50)
  }
  expect(refills).toEqual(Array(40).fill(true))
})

test('does nothing without a request', () => {
  const { gate: idle, refills } = gate()
  idle.holdBack()[Symbol.dispose]()
  idle.holdBack()[Symbol.dispose]()
  expect(refills).toEqual([])
})

test('does not refill after it is closed', () => {
  const { gate: closed, refills } = gate()
  using _create = closed.holdBack()
  closed.wish()
  closed.close()
  vi.advanceTimersByTime(1000)
  expect(refills).toEqual([])
})
