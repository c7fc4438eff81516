import { expect, test } from 'vitest'
import { expiryText, overlapText } from '../../src/output/key-times.ts'

const at = '2030-01-01T00:00:00.000Z'
const moment = Date.parse(at)

test.each([
  [null, moment, 'never'],
  [at, moment - 1, at],
  [at, moment, `expired ${at}`],
])('a key that ends %s is shown at %d as: %s', (expiresAt, now, text) => {
  expect(expiryText(expiresAt, now)).toBe(text)
})

test.each([
  [null, moment, ''],
  [at, moment - 1, `works until ${at}`],
  [at, moment, ''],
])('an earlier secret until %s is shown at %d as "%s"', (previousUntil, now, text) => {
  expect(overlapText(previousUntil, now)).toBe(text)
})
