import fc from 'fast-check'
import { expect, test } from 'vitest'
import { outputText, plainLine, shownText } from '../src/parts/shown-text.ts'

test.each([
  ['api.example.com', 'api.example.com'],
  ['moc.live\u202e.example', 'moc.live\\u202e.example'],
  ['a\u0000b\u001b[31m', 'a\\u0000b\\u001b[31m'],
  ['one\ntwo\tthree', 'one\ntwo\tthree'],
  ['zero\u200bwidth', 'zero\\u200bwidth'],
])('characters of %j that nobody sees are written out', (text, shown) => {
  expect(shownText(text)).toBe(shown)
})

test.each([
  ['\u001b[1;31mred\u001b[0m', 'red'],
  ['\u001b]0;title\u0007after', 'after'],
  ['\u001b]52;c;aGk=\u001b\\after', 'after'],
  ['\u001b]8;;javascript:alert(1)\u0007link\u001b]8;;\u0007', 'link'],
  ['\u001bP1$r\u001b\\after', 'after'],
  ['\u009b31mred', 'red'],
  ['\u001b(Bafter', 'after'],
  ['10%\r50%\r100%\nnext', '100%\nnext'],
  ['windows\r\nlines\r\n', 'windows\nlines\n'],
  ['bell\u0007 and \u0008back', 'bell and back'],
  ['cut \u001b[3', 'cut '],
  ['cut \u001b]0;rest', 'cut '],
])('output %j has no sequences of terminals', (text, shown) => {
  expect(outputText(text)).toBe(shown)
})

test.each([
  ['\u001b[31mred\u001b[0m\u001b]52;c;aGk=\u0007', 'red'],
  ['10 %\r50 %\rdone \u202ereversed\u0000', 'done \\u202ereversed\\u0000'],
  ['a\tb  ', 'a\tb'],
])('the line %j is as a terminal would leave it', (message, line) => {
  expect(plainLine(message)).toBe(line)
})

test.each([
  ['\r', 'end'],
  ['\u001b[', 'nd'],
  ['\u001b[1', 'nd'],
  ['\u001b]0;', ''],
  ['\u009b ', 'nd'],
  ['\u001b ', 'nd'],
])('a mebibyte of %j is read in one pass', (unit, shown) => {
  // A search that begins anew at each character would take hours.
  expect(outputText(`${unit.repeat(2 ** 20)}end`)).toBe(shown)
})

test('returns before a line break are one line break', () => {
  expect(outputText('a\r\r\nb\r\n\r\nc')).toBe('a\nb\n\nc')
})

test('no text keeps a control character besides line breaks and tabs', () => {
  const texts = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(texts, (text) => {
      expect(outputText(text)).not.toMatch(/(?![\n\t\r])\p{Cc}/u)
      expect(shownText(text)).not.toMatch(/(?![\n\t])[\p{Cc}\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/u)
    }),
  )
})
