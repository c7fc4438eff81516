import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shownPath } from '../../src/tree/shown-path.ts'

test.each([
  ['plain', 'plain'],
  ['a\\b', 'a\\b'],
  ['\xc3\xa9', 'é'],
  ['\xef\xbf\xbd', '\ufffd'],
  ['odd\xff', 'odd\\xff'],
  ['\xc3\xa9\xc3', 'é\\xc3'],
  ['\xf0\x9f\x92\xa9\xf0\x9f\x92', '💩\\xf0\\x9f\\x92'],
  ['a\\b\xff', 'a\\\\b\\xff'],
  ['\xc0\xaf\xed\xa0\x80', '\\xc0\\xaf\\xed\\xa0\\x80'],
])('shows the bytes %j as %j', (bytes, shown) => {
  expect(shownPath(Buffer.from(bytes, 'latin1'))).toBe(shown)
})

test('shows two distinct paths that are not UTF-8 as distinct texts', () => {
  const isText = (bytes: Uint8Array) => Buffer.from(Buffer.from(bytes).toString()).equals(bytes)
  const odd = fc.uint8Array({ minLength: 1, maxLength: 6 }).filter((bytes) => !isText(bytes))
  fc.assert(
    fc.property(odd, odd, (one, other) => {
      expect(shownPath(one) === shownPath(other)).toBe(Buffer.from(one).equals(other))
    }),
  )
})
