import { expect, test } from 'vitest'
import { OwnCalls } from '../../../src/tenancy/audit/own-calls.ts'

const socket = { remoteAddress: '127.0.0.1' }

test('an own call has the address of its client', () => {
  const own = new OwnCalls()
  expect(own.senderOf({ headers: own.headersFor('192.0.2.7'), socket })).toBe('192.0.2.7')
  expect(own.senderOf({ headers: own.headersFor(undefined), socket })).toBeUndefined()
})

test('without the secret of the process, a claim has no effect', () => {
  const own = new OwnCalls()
  const foreign = new OwnCalls().headersFor('192.0.2.7')
  for (const headers of [{}, foreign, { 'x-holt-own-call': '192.0.2.7' }, { 'x-holt-own-call': ' 192.0.2.7' }])
    expect(own.senderOf({ headers, socket })).toBe('127.0.0.1')
})
