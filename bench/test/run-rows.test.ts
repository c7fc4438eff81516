import { expect, it } from 'vitest'
import { limitMsOf } from '../run-rows.ts'

it.each([
  [884_913.842, 884_914],
  [0.2, 1],
  [3_600_000.5, 900_000],
])('limits a row to the rest of the run in a form that a signal takes: %d ms', (leftMs, limitMs) => {
  expect(limitMsOf(leftMs)).toBe(limitMs)
  expect(() => AbortSignal.timeout(limitMsOf(leftMs))).not.toThrow()
})
