import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fieldsOf } from '../../src/output/fields.ts'
import { styledData } from '../../src/output/print.ts'
import { tableLines } from '../../src/output/table.ts'
import { printable, visible } from '../../src/output/visible.ts'

/** All characters that a terminal interprets, or that hide or reverse text. */
const obeyed = /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\p{Surrogate}/u

const hostile = [
  ['a title', 'a\u001b]0;mine\u0007b', 'a\\u001b]0;mine\\u0007b'],
  ['a cleared screen', '\u001b[2J\u001b[H', '\\u001b[2J\\u001b[H'],
  ['one of a single byte', 'a\u009b2Jb', 'a\\u009b2Jb'],
  ['a key that answers', '\u001bZ\u0005', '\\u001bZ\\u0005'],
  ['text that is turned around', 'a\u202egpj.exe', 'a\\u202egpj.exe'],
  ['text that is not seen', 'a\u200bb\ufeff', 'a\\u200bb\\ufeff'],
  ['half of a pair', 'a\ud800b', 'a\\ud800b'],
  ['a backspace', 'rm\b\bls\u007f', 'rm\\u0008\\u0008ls\\u007f'],
] as const

test.each(hostile)('%s is escaped in tables, names and lines', (_, text, shown) => {
  expect(printable(text)).toBe(shown)
  expect(visible(text)).toBe(shown)
  const [, row = ''] = tableLines([text], [['NAME', (name) => name]])
  expect(row).toBe(shown)
})

test('a name cannot add a line or a column', () => {
  expect(printable('a\n\r\tb')).toBe('a b')
  expect(tableLines(['a\nroot  running'], [['NAME', (name) => name]])).toHaveLength(2)
})

test('own styles and line breaks stay, and all other sequences are escaped', () => {
  expect(visible('\u001b[31merror\u001b[39m: a\n\tb')).toBe('\u001b[31merror\u001b[39m: a\n\tb')
  expect(visible('\u001b[8mhidden')).toBe('\\u001b[8mhidden')
  expect(visible('\u001b[31;8mhidden')).toBe('\\u001b[31;8mhidden')
  expect(visible(styledData('bold', 'x'))).toBe(styledData('bold', 'x'))
})

test('an object printed as JSON is parsed as the same object', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (name, text) => {
      const object = { [name]: text }
      const shown = visible(JSON.stringify(object, null, 2))
      expect(JSON.parse(shown)).toEqual(object)
      expect(shown.replaceAll('\n', '')).not.toMatch(obeyed)
    }),
  )
})

test('no name has an effect on the terminal', () => {
  const anyText = fc.string({ unit: 'binary', maxLength: 64 })
  fc.assert(
    fc.property(anyText, (text) => {
      expect(printable(text)).not.toMatch(obeyed)
      for (const line of tableLines([text], [['NAME', (name) => name]]))
        expect(line).not.toMatch(/(?!\u001b\[(?:1|22)m)[\u0000-\u001f\u0080-\u009f]/u)
      for (const [, shown] of fieldsOf({ text })) expect(printable(shown)).not.toMatch(obeyed)
    }),
  )
})
