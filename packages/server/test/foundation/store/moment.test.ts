import fc from 'fast-check'
import { expect, test } from 'vitest'
import { moment, momentOrNull } from '../../../src/foundation/store/moment.ts'

test('a formatted time equals that of the standard library, for any earlier time', () => {
  const time = fc.oneof(
    fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 }),
    fc.integer({ min: 1_700_000_000_000, max: 1_700_200_000_000 }),
    fc.double({ min: -1e12, max: 1e12, noNaN: true }),
  )
  fc.assert(
    fc.property(fc.array(time, { minLength: 2, maxLength: 8 }), (times) => {
      expect(times.map(moment)).toEqual(times.map((ms) => new Date(ms).toISOString()))
    }),
  )
})

test('an invalid time is refused as in the standard library, and an absent one is null', () => {
  expect(() => moment(Number.NaN)).toThrow(RangeError)
  expect(() => moment(8.64e15 + 1)).toThrow(RangeError)
  expect(moment(0)).toBe('1970-01-01T00:00:00.000Z')
  expect(momentOrNull(null)).toBeNull()
})
