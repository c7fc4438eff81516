import { expect, test } from 'vitest'
import { type Look, SampleRing } from '../../../src/runtimes/usage/sample-ring.ts'
import { rateOf, windowOf } from '../../../src/runtimes/usage/window.ts'

/** A look at a moment in seconds, of a runtime that has had so many seconds of the processor. */
const lookAt = (secs: number, cpuSecs: number, more: Partial<Look> = {}): Look => ({
  at: 1_800_000_000_000 + secs * 1000,
  moment: secs * 1000,
  cpuUsec: cpuSecs * 1e6,
  memoryBytes: 100,
  diskBytes: 10,
  sentBytes: 0,
  receivedBytes: 0,
  ...more,
})

test('a ring keeps the last samples, oldest first, at every size', () => {
  const ring = new SampleRing(3)
  expect(ring.looks()).toEqual([])
  for (const secs of [1, 2, 3, 4, 5]) ring.add(lookAt(secs, secs / 2, { sentBytes: secs * 2 ** 40 }))
  expect(ring.looks()).toEqual([3, 4, 5].map((secs) => lookAt(secs, secs / 2, { sentBytes: secs * 2 ** 40 })))
})

test('a rate is processor time per time, and is null without an earlier sample and over a resume', () => {
  expect(rateOf(lookAt(20, 5), lookAt(10, 0))).toBe(0.5)
  expect(rateOf(lookAt(20, 5), null)).toBeNull()
  expect(rateOf(lookAt(20, 1), lookAt(10, 5))).toBeNull()
  expect(rateOf(lookAt(10, 5), lookAt(10, 4))).toBeNull()
})

test('a window has one sample for each step: the last, with its peak memory and its rate', () => {
  const looks = [
    lookAt(5, 1),
    lookAt(15, 2),
    lookAt(22, 3, { memoryBytes: 900 }),
    lookAt(28, 4, { memoryBytes: 300 }),
    lookAt(47, 5),
  ]
  const shown = windowOf(looks, { sinceMoment: 10_000, stepMs: 10_000 })
  expect(shown.map(({ moment, memoryBytes, rate }) => [moment / 1000, memoryBytes, rate])).toEqual([
    [15, 100, 0.1],
    [28, 900, 2 / 13],
    [47, 100, 1 / 19],
  ])
})

test('a window without samples is empty', () => {
  expect(windowOf([], { sinceMoment: 0, stepMs: 10_000 })).toEqual([])
  expect(windowOf([lookAt(1, 0)], { sinceMoment: 2_000, stepMs: 10_000 })).toEqual([])
})
