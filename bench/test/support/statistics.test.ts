import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { distributionOf, nearestRank, significant } from '../../support/statistics.ts'

describe('distributionOf', () => {
  it('takes each value from the samples, by nearest rank, in any order', () => {
    const samples = Array.from({ length: 100 }, (_, index) => 100 - index)
    expect(distributionOf(samples)).toEqual({ min_ms: 1, p50_ms: 50, p95_ms: 95, p99_ms: 99, max_ms: 100 })
  })

  it('trims nothing: one slow sample among many is the maximum', () => {
    expect(distributionOf([1, 1, 1, 1, 1, 1, 1, 1, 1, 900])?.max_ms).toBe(900)
  })

  it('returns nothing for no samples', () => {
    expect(distributionOf([])).toBeNull()
  })

  it('never falls from min to max, and uses only measured values', () => {
    const samples = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1 })
    fc.assert(
      fc.property(samples, (values) => {
        const figures = Object.values(distributionOf(values) ?? {})
        expect(figures).toEqual(figures.toSorted((a, b) => a - b))
        expect(figures.every((figure) => values.includes(figure))).toBe(true)
      }),
    )
  })
})

describe('nearestRank', () => {
  it.each([
    [0, 10],
    [0.25, 10],
    [0.5, 20],
    [0.51, 30],
    [1, 40],
  ])('returns the value at %f of four', (fraction, value) => {
    expect(nearestRank([10, 20, 30, 40], fraction)).toBe(value)
  })
})

describe('significant', () => {
  it('keeps four digits', () => {
    expect([significant(0.123456), significant(12345.6)]).toEqual([0.1235, 12350])
  })
})
