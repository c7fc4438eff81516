import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { errorOfAnswer, HoltConnectionError, HoltError, parseRetryAfter } from '../../src/errors/errors.ts'
import { backoffMs, type FailedTry, retryDelayMs } from '../../src/transport/retry.ts'

function answered(status: number, headers: Record<string, string> = {}, code = 'unavailable', details = {}) {
  return errorOfAnswer(
    new Response('', { status, headers }),
    JSON.stringify({ error: { code, message: 'm', details, request_id: 'rq1' } }),
  )
}
const lost = new HoltConnectionError('lost', 'lost')
const refused = new HoltConnectionError('refused', 'refused')
const failed = (method: string, error: unknown, more: Partial<FailedTry> = {}): FailedTry => ({
  method,
  error,
  tries: 1,
  maxRetries: 3,
  keyed: false,
  repeatable: true,
  timeLeftMs: 1000,
  ...more,
})

describe('retryDelayMs', () => {
  test.each([
    ['GET after a lost answer', failed('GET', lost), true],
    ['PUT after a lost answer', failed('PUT', lost), true],
    ['DELETE after a lost answer', failed('DELETE', lost), true],
    ['POST after a lost answer', failed('POST', lost), false],
    ['PATCH after a lost answer', failed('PATCH', lost), false],
    ['POST with a key after a lost answer', failed('POST', lost, { keyed: true }), true],
    ['POST that never left', failed('POST', refused), true],
    ['GET that took too long', failed('GET', new HoltConnectionError('timeout', 't')), false],
    ['429', failed('POST', answered(429)), true],
    ['429 for a quota, which waiting does not change', failed('POST', answered(429, {}, 'quota_exceeded')), false],
    ['503 of a GET', failed('GET', answered(503)), true],
    ['503 of a POST that may have been done', failed('POST', answered(503)), false],
    ['503 of a POST that was put off', failed('POST', answered(503, { 'retry-after': '1' })), true],
    [
      '503 for a template that could not be made, which waiting does not change',
      failed('POST', answered(503, { 'retry-after': '60' }, 'unavailable', { template_state: 'failed' })),
      false,
    ],
    [
      '503 for a template that is being made',
      failed('POST', answered(503, { 'retry-after': '5' }, 'unavailable', { template_state: 'building' })),
      true,
    ],
    [
      '503 for a change that is stored, and that a host has not applied',
      failed('PUT', answered(503, { 'retry-after': '1' }, 'unavailable', { reason: 'not_in_force' })),
      false,
    ],
    ['500', failed('GET', answered(500, {}, 'internal')), false],
    ['404', failed('GET', answered(404, {}, 'path_not_found')), false],
    [
      'a first request with the same key that still runs',
      failed('POST', answered(409, {}, 'idempotency_in_progress'), { keyed: true }),
      true,
    ],
    [
      'a first request that still runs, however often it was asked for',
      failed('POST', answered(409, {}, 'idempotency_in_progress'), { keyed: true, tries: 99 }),
      true,
    ],
    [
      'a first request that runs longer than a request may',
      failed('POST', answered(409, {}, 'idempotency_in_progress'), { keyed: true, timeLeftMs: 0 }),
      false,
    ],
    ['a body that is gone', failed('PUT', lost, { repeatable: false }), false],
    ['too many tries', failed('GET', lost, { tries: 4 }), false],
    [
      'a service that asks for a longer wait than is sensible',
      failed('GET', answered(503, { 'retry-after': '3600' })),
      false,
    ],
    ['an error that is not about the connection', failed('GET', new HoltError('internal', 'x')), false],
  ])('%s', (_, input, again) => {
    expect(retryDelayMs(input) !== null).toBe(again)
  })

  test('waits at least as long as the service asks', () => {
    expect(retryDelayMs(failed('GET', answered(503, { 'retry-after': '2' })))).toBeGreaterThanOrEqual(2000)
  })
})

test('the delay grows, is limited, and never comes close to zero', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (tries, random) => {
      const ms = backoffMs(tries, () => random)
      expect(ms).toBeGreaterThanOrEqual(50)
      expect(ms).toBeLessThanOrEqual(5000)
    }),
  )
})

test.each([
  ['3', 3],
  [' 0 ', 0],
  ['Fri, 01 Jan 2100 00:00:10 GMT', 10],
  ['Fri, 01 Jan 1999 00:00:00 GMT', 0],
  ['soon', null],
  [null, null],
])('reads Retry-After %s', (text, secs) => {
  expect(parseRetryAfter(text, Date.UTC(2100, 0, 1))).toBe(secs)
})

test('an answer of another server is still an error of the catalogue', () => {
  const error = errorOfAnswer(new Response('', { status: 502 }), '<html>bad gateway</html>')
  expect(error).toMatchObject({ code: 'unavailable', wireCode: '502', httpStatus: 502, requestId: null })
})

test('an unknown code is kept, and its status decides its kind', () => {
  const text = JSON.stringify({ error: { code: 'brand_new', message: 'm', request_id: 'rq1' } })
  expect(errorOfAnswer(new Response('', { status: 404 }), text)).toMatchObject({
    code: 'route_not_found',
    wireCode: 'brand_new',
  })
})
