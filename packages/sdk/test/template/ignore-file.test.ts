import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseIgnoreFile } from '../../src/template/ignore-file.ts'

const ignored = (text: string, path: string) => parseIgnoreFile(text, '.dockerignore').ignores(path)

describe('a pattern', () => {
  test.each([
    ['node_modules', 'node_modules', true],
    ['node_modules', 'node_modules/a/b', true],
    ['node_modules', 'packages/node_modules', false],
    ['/dist', 'dist/x', true],
    ['dist/', 'dist', true],
    ['./dist', 'dist', true],
    ['a/../b', 'b', true],
    ['*.log', 'a.log', true],
    ['*.log', '.log', true],
    ['*.log', 'd/a.log', false],
    ['*/*.log', 'd/a.log', true],
    ['*/*.log', 'd/e/a.log', false],
    ['**/*.log', 'a.log', true],
    ['**/*.log', 'd/e/a.log', true],
    ['**/tmp', 'tmp/x', true],
    ['**/tmp', 'd/tmp', true],
    ['**/tmp', 'd/xtmp', false],
    ['d/**', 'd/x', true],
    ['d/**', 'd/x/y', true],
    ['d/**', 'd', false],
    ['d/**/z', 'd/z', true],
    ['d/**/z', 'd/a/b/z', true],
    ['d/**/z', 'dz', false],
    ['**', 'anything/at/all', true],
    ['a?c', 'abc', true],
    ['a?c', 'a/c', false],
    ['[a-c]x', 'bx', true],
    ['[^a-c]x', 'bx', false],
    ['[^a-c]x', 'dx', true],
    ['[\\]]', ']', true],
    ['a\\*b', 'a*b', true],
    ['a\\*b', 'axb', false],
    ['a.b', 'axb', false],
    ['a+(b)|c$', 'a+(b)|c$', true],
    ['été?', 'étés', true],
    ['# not', '# not', false],
    ['  spaced.txt \r', 'spaced.txt', true],
    ['', 'x', false],
    ['.', 'x', false],
    ['/', 'x', false],
  ])('%j of %j: %s', (pattern, path, expected) => {
    expect(ignored(pattern, path)).toBe(expected)
  })

  test.each(['a\\', '[a', '[]', '[b-a]', '[-a]', '!', 'x\n! '])(
    '%j is not valid, and the error names the line',
    (text) => {
      expect(() => parseIgnoreFile(text, '.dockerignore')).toThrow(/line \d+: .* is not a pattern/)
    },
  )
})

describe('the last matching line decides', () => {
  test.each([
    ['*.md\n!README.md', 'README.md', false],
    ['*.md\n!README.md', 'OTHER.md', true],
    ['*.md\n!README*.md\nREADME-secret.md', 'README-secret.md', true],
    ['!README.md\n*.md', 'README.md', true],
    ['*\n!src', 'src/a/b', false],
    ['*\n!src', 'other/src', true],
    ['*\n!src/**\nsrc/*.o', 'src/a.o', true],
    ['d\n!d/keep', 'd/keep/x', false],
    ['d\n! d/keep', 'd/keep', false],
    ['\ufeffd', 'd', true],
  ])('%j of %j: %s', (text, path, expected) => {
    expect(ignored(text, path)).toBe(expected)
  })
})

const name = fc.stringMatching(/^[a-z.é+()$]{1,4}$/).filter((text) => text !== '.' && text !== '..')
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
const pattern = fc
  .array(fc.oneof(name, fc.constantFrom('*', '**', '?', '[a-c]', 'a*')), { minLength: 1, maxLength: 4 })
  .map((names) => names.join('/'))

describe('any text', () => {
  test('is rules or the one error, and rules decide on any path', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), path, (text, where) => {
        try {
          expect(typeof parseIgnoreFile(text, 'x').ignores(where)).toBe('boolean')
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_request' })
        }
      }),
    )
  })

  test('an ignored directory includes everything below it', () => {
    fc.assert(
      fc.property(path, path, (one, below) => {
        expect(ignored(one, one)).toBe(true)
        expect(ignored(one, `${one}/${below}`)).toBe(true)
        expect(ignored(`**/${one}`, `${below}/${one}`)).toBe(true)
      }),
    )
  })

  test('names without an exception stay ignored, and an exception needs an earlier line', () => {
    fc.assert(
      fc.property(fc.array(pattern), path, (patterns, where) => {
        expect(ignored(patterns.map((one) => `!${one}`).join('\n'), where)).toBe(false)
        const rules = parseIgnoreFile(patterns.join('\n'), 'x')
        expect(rules.hasExceptions).toBe(false)
        const below = `${where}/x`
        if (rules.ignores(where)) expect(rules.ignores(below)).toBe(true)
      }),
    )
  })

  test('repeated lines change nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), pattern)), path, (lines, where) => {
        const text = lines.map(([not, one]) => `${not ? '!' : ''}${one}`)
        const twice = text.flatMap((line) => [line, line])
        expect(ignored(twice.join('\n'), where)).toBe(ignored(text.join('\n'), where))
      }),
    )
  })
})
