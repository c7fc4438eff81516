import fc from 'fast-check'
import { expect, test } from 'vitest'
import { defaultRetryPolicy, readRetryAfter, retried } from '../../src/registry/retry-policy.ts'
import { TransferError } from '../../src/registry/transfer-error.ts'

const retryPolicy = { ...defaultRetryPolicy, firstDelayMs: 1, maxDelayMs: 2 }
const signal = () => AbortSignal.timeout(30_000)

test.each([
  [undefined, null],
  ['', null],
  ['5', 5000],
  ['-5', null],
  ['1.5', null],
  ['soon', null],
  ['Thu, 01 Jan 1970 00:00:10 GMT', 10_000],
  ['Wed, 31 Dec 1969 00:00:00 GMT', 0],
])('Retry-After %s is %s', (value, expected) => {
  expect(readRetryAfter(value, 0)).toBe(expected)
})

test('Retry-After never means a time in the past', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const ms = readRetryAfter(text, Date.now())
      expect(ms === null || ms >= 0).toBe(true)
    }),
  )
})

test('temporary failures are retried up to the limit, and others are not', async () => {
  for (const [reason, expected] of [
    ['busy', retryPolicy.attempts],
    ['unreachable', retryPolicy.attempts],
    ['denied', 1],
    ['damaged', 1],
    ['not_allowed', 1],
    ['no_such_host', 1],
  ] as const) {
    let count = 0
    const once = async () => {
      count += 1
      throw new TransferError(reason, 'no')
    }
    await expect(retried(retryPolicy, signal(), once)).rejects.toMatchObject({ reason })
    expect(count).toBe(expected)
  }
})

test('an abort ends the wait', async () => {
  const controller = new AbortController()
  const once = async () => {
    controller.abort(new Error('enough'))
    throw new TransferError('busy', 'no', { retryAfterMs: 50_000 })
  }
  await expect(retried(retryPolicy, controller.signal, once)).rejects.toThrow('enough')
})
