import { type ErrorCode, errorCatalogue, HoltError } from '@holt/protocol'
import { expect, test } from 'vitest'
import { asE2bError } from '../../../src/e2b/answers/as-e2b-error.ts'
import { limitReached } from '../../../src/foundation/errors/limit-reached.ts'

const codes = Object.keys(errorCatalogue) as ErrorCode[]

test.each(codes)('%s has one status, in the answer and in its body', (code) => {
  const { status, body } = asE2bError(new HoltError(code, 'It failed.'))
  expect(body).toEqual({ code: status, message: 'It failed.' })
})

test.each<ErrorCode>(['runtime_not_found', 'runtime_terminated', 'runtime_not_running'])(
  '%s is a sandbox that is not found',
  (code) => {
    expect(asE2bError(new HoltError(code, 'It failed.')).status).toBe(404)
  },
)

test.each(codes)('%s is repeated by clients only if that makes nothing twice', (code) => {
  const { status, headers } = asE2bError(new HoltError(code, 'It failed.'))
  if (code === 'rate_limited') expect(headers).toEqual({ 'retry-after': '1' })
  else if ([429, 502, 503, 504].includes(status)) expect(headers).toMatchObject({ 'should-retry': 'false' })
})

test('a rate tells whole seconds', () => {
  const error = limitReached('rate_limited', 'Too many.', { limit: 1, retry_after_secs: 2.2 })
  expect(asE2bError(error).headers).toEqual({ 'retry-after': '3' })
})
