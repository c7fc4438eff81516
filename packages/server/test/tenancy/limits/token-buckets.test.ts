import fc from 'fast-check'
import { expect, test } from 'vitest'
import { peerName } from '../../../src/tenancy/limits/peer-name.ts'
import { TokenBuckets } from '../../../src/tenancy/limits/token-buckets.ts'

test('a burst passes, and then requests at the rate', () => {
  let now = 0
  const buckets = new TokenBuckets(() => now)
  const take = () => buckets.take('a', { perSec: 2, burst: 3 })
  expect([take(), take(), take(), take()].map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
    [true, 2],
    [true, 1],
    [true, 0],
    [false, 0],
  ])
  expect(take()).toMatchObject({ retryAfterSecs: 1, resetSecs: 2 })
  now += 500
  expect([take().allowed, take().allowed]).toEqual([true, false])
  now += 60_000
  expect(take()).toEqual({ allowed: true, remaining: 2, resetSecs: 1, retryAfterSecs: 0 })
})

test('a look takes no token', () => {
  const buckets = new TokenBuckets(() => 0)
  const rate = { perSec: 1, burst: 1 }
  expect([buckets.look('a', rate).allowed, buckets.look('a', rate).allowed]).toEqual([true, true])
  expect([buckets.take('a', rate).allowed, buckets.look('a', rate).allowed]).toEqual([true, false])
})

test('any sequence stays within burst and rate, and names do not share a bucket', () => {
  const steps = fc.array(fc.record({ name: fc.constantFrom('a', 'b'), waitMs: fc.integer({ min: 0, max: 2000 }) }))
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }), (all, perSec, burst) => {
      let now = 0
      const buckets = new TokenBuckets(() => now)
      const allowed = new Map<string, number>()
      for (const { name, waitMs } of all) {
        now += waitMs
        if (buckets.take(name, { perSec, burst }).allowed) allowed.set(name, (allowed.get(name) ?? 0) + 1)
        expect(allowed.get(name) ?? 0).toBeLessThanOrEqual(burst + (now / 1000) * perSec + 1e-6)
      }
    }),
  )
})

test('full buckets are forgotten, and the number of buckets is limited', () => {
  const buckets = new TokenBuckets(() => 0)
  const rate = { perSec: 0.001, burst: 1 }
  for (let index = 0; index < 30_000; index += 1) expect(buckets.take(`peer ${index}`, rate).allowed).toBe(true)
  // The newest is known still; the oldest had to go.
  expect(buckets.take('peer 29999', rate).allowed).toBe(false)
  expect(buckets.take('peer 0', rate).allowed).toBe(true)
})

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  [undefined, 'unknown'],
])('%s is %s', (address, name) => {
  expect(peerName(address)).toBe(name)
})
