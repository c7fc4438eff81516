import { expect, test } from 'vitest'
import { timeRange } from '../src/parts/time-range.ts'

test('an axis of times with a single sample is a minute long', () => {
  expect(timeRange(null, 100, 100)).toEqual([70, 130])
  expect(timeRange(null, 100, 200)).toEqual([100, 200])
  expect(timeRange(null, null, null)).toEqual([null, null])
})
