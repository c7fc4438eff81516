import { describe, expect, test } from 'vitest'
import { Demand } from '../../../src/runtimes/pools/demand.ts'

const minute = 60_000

/** The demand after claims at these times, in milliseconds. */
function after(...claims: number[]): Demand {
  const demand = new Demand()
  for (const at of claims) demand.note(at)
  return demand
}

describe('demand', () => {
  test('is zero before the first claim', () => {
    expect(new Demand().wanted(0)).toBe(0)
  })

  test('is the largest burst with a margin', () => {
    expect(after(...Array.from({ length: 40 }, (_, index) => index * 10)).wanted(1000)).toBe(50)
  })

  test('counts distant claims as one each', () => {
    expect(after(0, minute, 2 * minute, 3 * minute).wanted(3 * minute)).toBe(2)
  })

  test('decays to zero', () => {
    const demand = after(0, 0, 0, 0)
    const sizes = [0, 5, 10, 15, 20].map((minutes) => demand.wanted(minutes * minute))
    expect(sizes).toEqual([5, 3, 2, 1, 0])
  })

  test('is not lowered by a smaller burst after a larger one', () => {
    const demand = after(0, 0, 0, 0, 0, 0, 0, 0)
    demand.note(minute)
    expect(demand.wanted(minute)).toBeGreaterThan(8)
  })

  test('tolerates a clock that is set back', () => {
    const demand = after(10 * minute, 10 * minute)
    expect(demand.wanted(0)).toBe(3)
  })
})
