import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nameProblem, pathsTo, typedPath } from '../src/files/file-paths.ts'
import { findRows, rowOf, sortRows } from '../src/files/file-row.ts'
import { beginningText, fileText, shownBytes } from '../src/files/file-text.ts'
import { changedLines, lineDifference } from '../src/files/line-difference.ts'
import { shownName } from '../src/files/shown-name.ts'
import { shellWord } from '../src/parts/shell-word.ts'

const bytesOf = (text: string, encoding: BufferEncoding = 'utf8') => new Uint8Array(Buffer.from(text, encoding))

describe('the text of a file', () => {
  test.each([
    ['', '\n', 'UTF-8'],
    ['one\ntwo\n', '\n', 'UTF-8'],
    ['one\r\ntwo\r\n', '\r\n', 'UTF-8'],
    ['one\r\ntwo\n', '\n', 'UTF-8'],
    ['\ufeffgrüße 🙂\n', '\n', 'UTF-8'],
  ] as const)('%j has its own line break', (text, lineBreak, encoding) => {
    expect(fileText(bytesOf(text))).toEqual({ type: 'text', text, lineBreak, encoding })
  })

  test('of another encoding is named, and one with NUL is binary', () => {
    expect(fileText(bytesOf('caf\xe9', 'latin1'))).toMatchObject({ text: 'café', encoding: 'windows-1252' })
    expect(fileText(bytesOf('\ufeffhi', 'utf16le'))).toMatchObject({ text: 'hi', encoding: 'UTF-16LE' })
    expect(fileText(bytesOf('a\0b'))).toEqual({ type: 'binary' })
  })

  test('of UTF-8 is given back byte for byte', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const found = fileText(bytesOf(text))
        return found.type === 'binary' || found.text === Buffer.from(text).toString()
      }),
    )
  })

  test('that is cut within a character is still UTF-8', () => {
    const text = `${'x'.repeat(shownBytes - 2)}🙂🙂`
    expect(beginningText(bytesOf(text))).toMatchObject({ encoding: 'UTF-8', text: 'x'.repeat(shownBytes - 2) })
  })
})

describe('a difference', () => {
  const sides = (one: string, other: string) => lineDifference(one, other).map(({ side, text }) => `${side} ${text}`)

  test('has the lines of both sides', () => {
    expect(sides('a\nb\nc', 'a\nx\nc')).toEqual(['both a', 'theirs x', 'mine b', 'both c'])
    expect(sides('a', 'a')).toEqual(['both a'])
  })

  test('leads to both texts', () => {
    const lines = fc.array(fc.constantFrom('', 'a', 'b', 'c'), { maxLength: 30 }).map((all) => all.join('\n'))
    fc.assert(
      fc.property(lines, lines, (mine, theirs) => {
        const found = lineDifference(mine, theirs)
        const of = (side: string) => found.filter((line) => line.side === 'both' || line.side === side)
        const text = (side: string) =>
          of(side)
            .map((line) => line.text)
            .join('\n')
        expect([text('mine'), text('theirs')]).toEqual([mine, theirs])
      }),
    )
  })

  test('of very long texts is not compared line by line', () => {
    const long = (letter: string) => Array.from({ length: 3000 }, (_, at) => `${letter}${at}`).join('\n')
    expect(lineDifference(long('a'), long('b'))).toHaveLength(6000)
  })

  test('is shown with the lines around it', () => {
    const text = Array.from({ length: 100 }, (_, at) => String(at))
    const found = changedLines(lineDifference(text.join('\n'), text.with(50, 'x').join('\n')), 500)
    expect(found.map((line) => line?.text ?? '…').join(' ')).toBe('… 47 48 49 x 50 51 52 53 …')
    expect(changedLines(lineDifference(text.join('\n'), ''), 10)).toHaveLength(11)
  })
})

describe('a name', () => {
  const base64 = (bytes: string) => Buffer.from(bytes, 'latin1').toString('base64')

  test.each([
    ['plain.txt', undefined, 'plain.txt'],
    ['a\u001b[31m\u202etxt.exe', undefined, 'a\\u001b[31m\\u202etxt.exe'],
    ['two\nlines', undefined, 'two\\u000alines'],
    ['caf\ufffd', base64('/d/caf\xe9'), 'caf\\xe9'],
    ['\ufffd\ufffd', base64('/\xc3\xbc\xff\xfe'), 'ü\\xff\\xfe'],
    ['a cut character', base64('/\xf0\x9f\x98'), '\\xf0\\x9f\\x98'],
    ['half a pair', base64('/\xed\xa0\x80'), '\\xed\\xa0\\x80'],
    ['too long a form', base64('/\xe0\x80\xaf\xc0\xaf'), '\\xe0\\x80\\xaf\\xc0\\xaf'],
    ['the replacement itself', base64('/\xff\xef\xbf\xbd'), '\\xff\ufffd'],
  ])('%j is shown so that nothing hides', (name, path_base64, shown) => {
    expect(shownName({ name, path_base64 })).toBe(shown)
  })

  test('of any bytes is shown as a decoder reads it, with the other bytes written out', () => {
    const byte = fc.oneof(fc.constantFrom(0xc3, 0xe0, 0xed, 0xf4, 0x80, 0xbf, 0x41), fc.nat(255))
    const unescaped = (text: string) =>
      text.replaceAll(/\\u([0-9a-f]{4})/g, (_, code) => String.fromCharCode(Number(`0x${code}`)))
    fc.assert(
      fc.property(fc.array(byte), (all) => {
        const bytes = all.filter((each) => each >= 0x20 && ![0x2f, 0x5c, 0x7f].includes(each))
        const shown = shownName({ name: '', path_base64: Buffer.from([0x2f, ...bytes]).toString('base64') })
        const parts = shown
          .split(/(\\x[0-9a-f]{2})/)
          .map((part) => (part.startsWith('\\x') ? Buffer.from(part.slice(2), 'hex') : Buffer.from(unescaped(part))))
        expect([...Buffer.concat(parts)]).toEqual(bytes)
      }),
    )
  })

  test.each(['', '.', '..', 'a/b', '../x', 'a\0b', '\ud800', 'é'.repeat(128)])('%j is refused', (name) => {
    expect(nameProblem(name)).not.toBeNull()
  })

  test.each(['-rf', '...', ' ', '$(id)', 'é'.repeat(127)])('%j is accepted', (name) => {
    expect(nameProblem(name)).toBeNull()
  })

  test.each(["it's", '$(id)', 'a b', '-rf', 'two\nlines', 'bell\u0007', 'back\\slash', '\u202egnp', 'é'])(
    'is one word of a shell: %j',
    (name) => {
      const env = { ...process.env, LC_ALL: 'C.UTF-8' }
      expect(execFileSync('bash', ['-c', `printf %s ${shellWord(`./${name}`)}`], { env }).toString()).toBe(`./${name}`)
    },
  )
})

test.each([
  ['/w', 'a', '/w/a'],
  ['/w', '../a/./b//c', '/a/b/c'],
  ['/', '..', '/'],
  ['/w', '/x/', '/x'],
])('in %s, the typed path %s is %s', (dir, text, path) => {
  expect(typedPath(dir, text)).toBe(path)
  expect(pathsTo(path).at(-1)).toBe(path)
})

test('rows are found and sorted, directories first', () => {
  const row = (name: string, type: 'file' | 'directory', size_bytes: number) =>
    rowOf({ path: `/${name}`, name, type, size_bytes, modified_at: '2026-01-01T00:00:00.000Z' } as never)
  const rows = [row('b10', 'file', 1), row('b9', 'file', 2), row('.h', 'file', 3), row('z', 'directory', 0)]
  const names = (found: readonly { readonly shown: string }[]) => found.map(({ shown }) => shown).join(' ')
  expect(names(sortRows(rows, { by: 'Name', isDescending: false }))).toBe('z .h b9 b10')
  expect(names(sortRows(rows, { by: 'Size', isDescending: true }))).toBe('z .h b9 b10')
  expect(names(findRows(rows, 'B', false))).toBe('b10 b9')
  expect(names(findRows(rows, '', true))).toBe('b10 b9 .h z')
})
