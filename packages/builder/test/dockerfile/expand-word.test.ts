// biome-ignore-all lint/suspicious/noTemplateCurlyInString: words of Dockerfiles have variables.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { expandText, expandWord, quoteWord } from '../../src/dockerfile/expand-word.ts'
import { BuildError } from '../../src/errors.ts'

const values = new Map([
  ['x', 'value'],
  ['empty', ''],
  ['path', '/usr/local/lib/a.tar.gz'],
  ['stars', 'a***yy*'],
  ['lines', 'one\ntwo'],
  ['emoji', '🖖🚀👽'],
  ['한', 'ko'],
  ['1', 'first'],
  ['pattern', '*/'],
])
const lookup = (name: string) => values.get(name)

const cases: Readonly<Record<string, readonly (readonly [word: string, becomes: string])[]>> = {
  plain: [
    ['', ''],
    ['a b', 'a b'],
    ['$x', 'value'],
    ['${x}', 'value'],
    ['$x.$x', 'value.value'],
    ['a${x}b', 'avalueb'],
    ['$none', ''],
    ['$xy', ''],
    ['$', '$'],
    ['a$', 'a$'],
    ['$/x', '$/x'],
    ['$(x)', '$(x)'],
    ['$1x', 'firstx'],
    ['$한', 'ko'],
    ['$@', ''],
    ['$$', ''],
    ['100%', '100%'],
  ],
  'quotes and escapes': [
    ["'$x'", '$x'],
    ['"$x"', 'value'],
    ['\\$x', '$x'],
    ['"\\$x"', '$x'],
    ['\'a\'"b"c', 'abc'],
    ['a\\ b', 'a b'],
    ['"a\\b"', 'a\\b'],
    ['"a\\"b"', 'a"b'],
    ['"a\\\\b"', 'a\\b'],
    ["'a\\b'", 'a\\b'],
    ['a\\\\b', 'a\\b'],
    ['"it\'s"', "it's"],
    ['a\\', 'a'],
    ['`', '`'],
  ],
  'defaults and alternatives': [
    ['${none-d}', 'd'],
    ['${none:-d}', 'd'],
    ['${empty-d}', ''],
    ['${empty:-d}', 'd'],
    ['${x-d}', 'value'],
    ['${x:-d}', 'value'],
    ['${x+a}', 'a'],
    ['${x:+a}', 'a'],
    ['${empty+a}', 'a'],
    ['${empty:+a}', ''],
    ['${none+a}', ''],
    ['${none:+a}', ''],
    ['${none:-}', ''],
    ['${none:-$x}', 'value'],
    ['${none:-${empty:-${x}}}', 'value'],
    ['${none:-"a b"}', 'a b'],
    ["${none:-'$x'}", '$x'],
    ['${none:-a\\}b}', 'a}b'],
    ['${x?e}', 'value'],
    ['${x:?e}', 'value'],
    ['${empty?e}', ''],
  ],
  patterns: [
    ['${path#*/}', 'usr/local/lib/a.tar.gz'],
    ['${path##*/}', 'a.tar.gz'],
    ['${path%/*}', '/usr/local/lib'],
    ['${path%%/*}', ''],
    ['${path%.*}', '/usr/local/lib/a.tar'],
    ['${path%%.*}', '/usr/local/lib/a'],
    ['${path#/usr}', '/local/lib/a.tar.gz'],
    ['${path#usr}', '/usr/local/lib/a.tar.gz'],
    ['${path#/???/}', 'local/lib/a.tar.gz'],
    ['${path##}', '/usr/local/lib/a.tar.gz'],
    ['${path%}', '/usr/local/lib/a.tar.gz'],
    ['${stars%%\\**\\*}', 'a'],
    ['${stars#a\\*}', '**yy*'],
    ['${path#$none}', '/usr/local/lib/a.tar.gz'],
    ['${emoji#?}', '🚀👽'],
    ['${emoji%?}', '🖖🚀'],
    ['${lines#*two}', 'one\ntwo'],
    ['${none#*}', ''],
  ],
  replacement: [
    ['${path/l/L}', '/usr/Local/lib/a.tar.gz'],
    ['${path//l/L}', '/usr/LocaL/Lib/a.tar.gz'],
    ['${path//\\//-}', '-usr-local-lib-a.tar.gz'],
    ['${path/local/}', '/usr//lib/a.tar.gz'],
    ['${path/$pattern/x}', 'xa.tar.gz'],
    ['${path//.*/}', '/usr/local/lib/a'],
    ['${path//a.?ar/$x}', '/usr/local/lib/value.gz'],
    ['${x//none/y}', 'value'],
    ['${x/$empty/ww}', 'wwvalue'],
    ['${x//$empty/.}', '.v.a.l.u.e.'],
    ['${none/a/b}', ''],
    ['${stars//\\*/+}', 'a+++yy+'],
  ],
}

for (const [group, list] of Object.entries(cases)) {
  describe(group, () => {
    test.each(list)('%s is %s', (word, becomes) => {
      expect(expandWord(word, lookup)).toBe(becomes)
    })
  })
}

test.each([
  "'a",
  '"a',
  '${x',
  '${',
  '${}',
  '${:x}',
  '${{x}',
  '${x:',
  '${x:=a}',
  '${x=a}',
  '${x!a}',
  '${x:-',
  '${x/a}',
  '${x//a}',
  '${x^^}',
  '${path#\\a}',
  '${path%a\\}',
  '${x#',
  '"${x',
  "${x:-'}",
])('%s cannot be parsed', (word) => {
  expect(() => expandWord(word, lookup)).toThrow(
    expect.objectContaining({ name: 'BuildError', code: 'dockerfile_invalid' }),
  )
})

test.each([
  ['${none?}', /none: is not set/],
  ['${none:?}', /none: is not set/],
  ['${empty:?}', /empty: is empty/],
  ['${none?give $x}', /none: give value/],
  ['${empty:?give $x}', /empty: give value/],
])('%s names the missing variable', (word, message) => {
  expect(() => expandWord(word, lookup)).toThrow(message)
})

test('a backtick quotes if it is the escape character', () => {
  expect(expandWord('C:\\dir\\`$x$x', lookup, { escapeChar: '`' })).toBe('C:\\dir\\$xvalue')
  expect(expandWord('"a`"b"', lookup, { escapeChar: '`' })).toBe('a"b')
})

test('in a here-document, quotes are characters and escapes are not', () => {
  expect(expandText(`it's "$x"\n`, lookup)).toBe(`it's "value"\n`)
  expect(expandText('\\$x \\\\ \\\n', lookup)).toBe('$x \\ \n')
})

test('a property name of objects is not a variable', () => {
  const record: Readonly<Record<string, string>> = {}
  const own = (name: string) => (Object.hasOwn(record, name) ? record[name] : undefined)
  expect(expandWord('${constructor:-none}${__proto__}', own)).toBe('none')
})

test.each([
  ['nesting', '${a:-'.repeat(5000) + '}'.repeat(5000)],
  ['nesting in quotes', '"${a:-'.repeat(5000) + '}"'.repeat(5000)],
  ['a value again and again', '${big}'.repeat(1000)],
  ['patterns of stars', `\${big#${'*a'.repeat(2000)}b}`],
  ['many replacements', '${u+${big//?/x}}'.repeat(1000)],
  ['a replacement that grows', '${big//a/$big}'],
])('%s is limited', (_, word) => {
  const big = (name: string) => (name === 'big' ? 'a'.repeat(100_000) : undefined)
  expect(() => expandWord(word, big)).toThrow(BuildError)
})

test('a quoted word is unchanged', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.constantFrom('\\' as const, '`' as const), (text, escapeChar) => {
      expect(expandWord(quoteWord(text, escapeChar), lookup, { escapeChar })).toBe(text)
    }),
  )
})

test('a word without special characters is itself', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[^$"'\\]*$/), (text) => {
      expect(expandWord(text, lookup)).toBe(text)
    }),
  )
})

test('any word is expanded or refused', () => {
  const piece = fc.constantFrom(
    '$',
    '{',
    '}',
    '${x',
    '${none',
    ':-',
    ':+',
    '?',
    '#',
    '##',
    '%',
    '/',
    '//',
    '\\',
    '"',
    "'",
    '*',
    'x',
    ' ',
    '\n',
    '${path//',
    '🚀',
  )
  let [good, bad] = [0, 0]
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      try {
        expandWord(pieces.join(''), lookup)
        good += 1
      } catch (error) {
        if (!(error instanceof BuildError)) throw error
        bad += 1
      }
    }),
    { numRuns: 5000 },
  )
  expect(Math.min(good, bad)).toBeGreaterThan(500)
})
