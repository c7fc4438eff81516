import { HoltError } from '@holt/protocol'
import { expect, test } from 'vitest'
import { limitHeaders, limitReached } from '../../../src/foundation/errors/limit-reached.ts'

const headers = (retryAfter: number, [limit, remaining, reset]: readonly number[]) => ({
  'retry-after': `${retryAfter}`,
  'ratelimit-limit': `${limit}`,
  'ratelimit-remaining': `${remaining}`,
  'ratelimit-reset': `${reset}`,
})

test.each([
  ['places that others have', 'rate_limited', { limit: 1024 }, headers(1, [1024, 0, 1])],
  ['a bucket that refills', 'rate_limited', { limit: 5, retry_after_secs: 2, reset_secs: 7 }, headers(2, [5, 0, 7])],
  ['a quota', 'quota_exceeded', { quota: 'runtimes', limit: 10, used: 10 }, headers(60, [10, 0, 60])],
  ['a quota with too little left', 'quota_exceeded', { limit: 2.5, used: 1.25 }, headers(60, [2, 1, 60])],
  ['a quota that was lowered', 'quota_exceeded', { limit: 3, used: 8 }, headers(60, [3, 0, 60])],
  ['a queue', 'quota_exceeded', { limit: 50, retry_after_secs: 10, hint: 'Wait.' }, headers(10, [50, 0, 10])],
] as const)('the error for a limit on %s has a time to retry and the remainder', (_, code, limit, expected) => {
  const error = limitReached(code, 'Too many.', limit)
  expect(limitHeaders(error)).toEqual(expected)
  expect(error).toMatchObject({ status: 429, code, details: { limit: limit.limit } })
  expect(error.details).not.toHaveProperty('hint')
})

test.each([
  [{ limit: 5, retry_after_secs: '9\r\nx-evil: 1' }, headers(1, [5, 0, 1])],
  [{ limit: 5, retry_after_secs: Number.NaN, reset_secs: Number.POSITIVE_INFINITY }, headers(1, [5, 0, 1])],
  [{ limit: 5, used: 'all', retry_after_secs: 2, reset_secs: null }, headers(2, [5, 0, 2])],
  [{ limit: Number.POSITIVE_INFINITY, used: 1 }, { 'retry-after': '1' }],
  [{ limit: '5' }, { 'retry-after': '1' }],
])('of the details %j, only numbers become headers', (details, expected) => {
  expect(limitHeaders(new HoltError('rate_limited', 'Too many.', { details }))).toEqual(expected)
})

test('an error without a number only has a time to retry', () => {
  expect(limitHeaders(new HoltError('rate_limited', 'Too many.'))).toEqual({ 'retry-after': '1' })
  expect(limitHeaders(new HoltError('quota_exceeded', 'Too many.'))).toEqual({ 'retry-after': '60' })
})
