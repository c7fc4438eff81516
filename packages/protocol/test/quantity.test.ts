import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseMiB } from '../src/index.ts'

test.each([
  [8, 8192],
  [0.5, 512],
  ['512MiB', 512],
  ['8GiB', 8192],
  ['8GB', 7630],
  ['1.5 GiB', 1536],
  ['1TiB', 1048576],
  ['512m', 512],
  ['2G', 2048],
  ['1.5g', 1536],
  ['1t', 1048576],
  ['1024k', 1],
  ['1K', 1],
])('%s is %i MiB', (value, mib) => {
  expect(parseMiB(value)).toBe(mib)
})

test.each([
  0,
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  '',
  '8',
  'GiB',
  '-1GiB',
  '1e9GiB',
  '8 G',
  '8gb',
  '512MIB',
  '512b',
  '８GiB',
  '1GiB ',
  '99999999999999GiB',
])('%s is not an amount', (value) => {
  expect(parseMiB(value)).toBeNull()
})

test('any input gives a whole positive number or null', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.double(),
        fc.string(),
        fc.tuple(fc.double(), fc.constantFrom('MiB', 'GB', 'TiB')).map(([n, u]) => `${n}${u}`),
      ),
      (value) => {
        const mib = parseMiB(value)
        expect(mib === null || (Number.isSafeInteger(mib) && mib > 0)).toBe(true)
      },
    ),
  )
})
