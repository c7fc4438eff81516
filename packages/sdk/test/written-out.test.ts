import { expect, test } from 'vitest'
import { writtenOut } from '../src/index.ts'

test.each([
  ['plain üñî 日本 👩‍👩‍👧', 'plain üñî 日本 👩‍👩‍👧'],
  ['a\u001b[2Jb\u009b', 'a\\u001b[2Jb\\u009b'],
  ['line\nnext', 'line\\u000anext'],
  ['\u202eright\u200b', '\\u202eright\\u200b'],
  ['x\u{e0041}', 'x\\udb40\\udc41'],
  ['\ud800', '\\ud800'],
])('%j is written out', (text, shown) => {
  expect(writtenOut(text)).toBe(shown)
  expect(JSON.parse(`"${shown}"`)).toBe(text)
})

test('the caller decides which characters stay', () => {
  expect(writtenOut('a\nb\u0007', (character) => character === '\n')).toBe('a\nb\\u0007')
})
