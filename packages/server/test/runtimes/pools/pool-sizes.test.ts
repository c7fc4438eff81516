import fc from 'fast-check'
import { expect, test } from 'vitest'
import { poolSizes } from '../../../src/runtimes/pools/pool-sizes.ts'

test.each([
  ['a floor without demand', [{ floor: 2, demand: 0 }], 64, [2]],
  ['demand above the floor', [{ floor: 2, demand: 5 }], 64, [5]],
  ['demand below the floor', [{ floor: 2, demand: 1 }], 64, [2]],
  ['more than the ceiling', [{ floor: 0, demand: 500 }], 64, [64]],
  [
    'two that share what is left beyond a floor',
    [
      { floor: 2, demand: 42 },
      { floor: 0, demand: 120 },
    ],
    42,
    [12, 30],
  ],
  ['nothing', [], 64, []],
  ['no pools', [{ floor: 0, demand: 3 }], 0, [0]],
])('sizes for %s', (_what, needs, ceiling, sizes) => {
  expect(poolSizes(needs, ceiling)).toEqual(sizes)
})

test('all pools together stay within the ceiling, and each within its demand', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ floor: fc.nat(50), demand: fc.nat(500) }), { maxLength: 8 }),
      fc.nat(100),
      (needs, ceiling) => {
        const sizes = poolSizes(needs, ceiling)
        expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(ceiling)
        for (const [index, { floor, demand }] of needs.entries()) {
          expect(sizes[index]).toBeGreaterThanOrEqual(0)
          expect(sizes[index]).toBeLessThanOrEqual(Math.max(floor, demand))
        }
      },
    ),
  )
})
