import { expect, test } from 'vitest'
import { byLength, roundsOf } from '../src/test-length.ts'

const values = { short: 1, long: 2, soak: 3 }

test('a run has the rounds of its length, or those that its variable says', () => {
  expect(roundsOf(values, undefined)).toBe(byLength(values))
  expect(roundsOf(values, '')).toBe(byLength(values))
  expect(roundsOf(values, '40')).toBe(40)
  for (const wrong of ['0', '-1', '1.5', 'many']) expect(() => roundsOf(values, wrong)).toThrow('HOLT_TEST_ROUNDS')
})
