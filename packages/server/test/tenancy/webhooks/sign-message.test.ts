import { Webhook as Verifier } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { retryDelayMs } from '../../../src/tenancy/webhooks/retry-schedule.ts'
import { makeWebhookSecret, signedHeaders } from '../../../src/tenancy/webhooks/sign-message.ts'

test('a signature equals that of the public library', () => {
  const secret = makeWebhookSecret()
  const at = Date.now()
  const body = JSON.stringify({ text: 'ü'.repeat(100) })
  const headers = signedHeaders({ id: 'ev1', at, body }, [secret])
  expect(headers['webhook-signature']).toBe(new Verifier(secret).sign('ev1', new Date(at), body))
})

test('attempts spread over three days, never at once and never before Retry-After', () => {
  const delays = Array.from({ length: 12 }, (_, index) => retryDelayMs(index + 1, null, () => 0))
  expect(delays.at(-1)).toBeNull()
  const days = delays.reduce<number>((sum, delay) => sum + (delay ?? 0), 0) / (24 * 3600 * 1000)
  expect(days).toBeGreaterThan(3)
  expect(days).toBeLessThan(3.5)
  expect(retryDelayMs(1, null, () => 1)).toBe(6000)
  expect(retryDelayMs(1, 60_000, () => 0)).toBe(60_000)
  expect(retryDelayMs(1, 10 ** 12, () => 0)).toBe(24 * 3600 * 1000)
  expect(retryDelayMs(12, 60_000)).toBeNull()
})
