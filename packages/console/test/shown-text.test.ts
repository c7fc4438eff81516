import fc from 'fast-check'
import { expect, test } from 'vitest'
import { outputText, shownText } from '../src/parts/shown-text.ts'

test.each([
  ['api.example.com', 'api.example.com'],
  ['moc.live\u202e.example', 'moc.live\\u{202e}.example'],
  ['a\u0000b\u001b[31m', 'a\\u{0}b\\u{1b}[31m'],
  ['one\ntwo\tthree', 'one\ntwo\tthree'],
  ['zero\u200bwidth', 'zero\\u{200b}width'],
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

test('no text keeps a control character besides line breaks and tabs', () => {
  const texts = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(texts, (text) => {
      expect(outputText(text)).not.toMatch(/(?![\n\t\r])\p{Cc}/u)
      expect(shownText(text)).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}]/u)
    }),
  )
})
