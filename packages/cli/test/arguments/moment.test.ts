import { describe, expect, test } from 'vitest'
import { momentOf } from '../../src/arguments/moment.ts'

const now = Date.parse('2030-01-31T12:00:00Z')

describe('a moment', () => {
  test.each([
    ['2030-01-01', 'ahead', '2030-01-01T00:00:00.000Z'],
    ['2030-01-01T10:00:00+02:00', 'ago', '2030-01-01T08:00:00.000Z'],
    ['30d', 'ahead', '2030-03-02T12:00:00.000Z'],
    ['30d', 'ago', '2030-01-01T12:00:00.000Z'],
    ['2h', 'ahead', '2030-01-31T14:00:00.000Z'],
    ['1.5m', 'ago', '2030-01-31T11:58:30.000Z'],
  ] as const)('%s %s is %s', (text, side, moment) => {
    expect(momentOf('--since', text, side, now)).toBe(moment)
  })

  test.each(['soon', '30x', '99999999999d', ''])('"%s" is not a time', (text) => {
    expect(() => momentOf('--expires', text, 'ahead', now)).toThrow('--expires')
  })

  test('an absent time stays absent', () => {
    expect(momentOf('--since', undefined, 'ago', now)).toBeUndefined()
  })
})
