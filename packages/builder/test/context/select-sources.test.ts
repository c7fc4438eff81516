import { expect, test } from 'vitest'
import type { SelectOptions } from '../../src/context/open-context.ts'
import { contextOf, contextOfFiles, listing, member, names } from '../support/context-archive.ts'

const tree = {
  'a.txt': 'a',
  'b.md': 'b',
  '.hidden': 'h',
  'src/main.js': 'main',
  'src/lib/one.js': 'one',
  'src/lib/one.test.js': 'test',
  'src/lib/deep/two.js': 'two',
  'docs/a.txt': 'doc',
  'odd/[x].txt': 'odd',
}

const cases: readonly (readonly [sources: readonly string[], options: SelectOptions, expected: readonly string[]])[] = [
  [['a.txt'], {}, ['a.txt']],
  [['./a.txt'], {}, ['a.txt']],
  [['/a.txt'], {}, ['a.txt']],
  [['../../a.txt'], {}, ['a.txt']],
  [['src/../a.txt'], {}, ['a.txt']],
  [['src'], {}, ['lib', 'lib/deep', 'lib/deep/two.js', 'lib/one.js', 'lib/one.test.js', 'main.js']],
  [['src/'], {}, ['lib', 'lib/deep', 'lib/deep/two.js', 'lib/one.js', 'lib/one.test.js', 'main.js']],
  [['src/lib/one.js'], {}, ['one.js']],
  [
    ['*'],
    {},
    [
      '.hidden',
      '[x].txt',
      'a.txt',
      'b.md',
      'lib',
      'lib/deep',
      'lib/deep/two.js',
      'lib/one.js',
      'lib/one.test.js',
      'main.js',
    ],
  ],
  [['*.txt', 'b.md'], {}, ['a.txt', 'b.md']],
  [['?.*'], {}, ['a.txt', 'b.md']],
  [['[ab].*'], {}, ['a.txt', 'b.md']],
  [['[^a].*'], {}, ['b.md']],
  [['src/*/one*.js'], {}, ['one.js', 'one.test.js']],
  [['src/**/*.js'], {}, ['main.js', 'one.js', 'one.test.js', 'two.js']],
  [['**/two.js'], {}, ['two.js']],
  [['odd/\\[x\\].txt'], {}, ['[x].txt']],
  [['odd/[[]x].txt'], {}, ['[x].txt']],
  [['odd/[x].txt'], { literal: true }, ['[x].txt']],
  [['a.txt', 'none*'], {}, ['a.txt']],
  [['src'], { exclude: ['lib'] }, ['main.js']],
  [['src'], { exclude: ['*.js'] }, ['lib', 'lib/deep', 'lib/deep/two.js', 'lib/one.js', 'lib/one.test.js']],
  [['src'], { exclude: ['**/*.js'] }, ['lib', 'lib/deep']],
  [['src'], { exclude: ['lib/*.test.js'] }, ['lib', 'lib/deep', 'lib/deep/two.js', 'lib/one.js', 'main.js']],
  [['src'], { exclude: ['lib', '!lib/deep/two.js'] }, ['lib', 'lib/deep', 'lib/deep/two.js', 'main.js']],
  [['src'], { exclude: ['!lib', 'lib'] }, ['main.js']],
  [['?.*'], { exclude: ['*.md'] }, ['a.txt']],
  [['src'], { exclude: ['*'] }, []],
  [['src/lib/one.js'], { parents: true }, ['src', 'src/lib', 'src/lib/one.js']],
  [['src/./lib/one.js'], { parents: true }, ['lib', 'lib/one.js']],
  [['src/./*/one*.js'], { parents: true }, ['lib', 'lib/one.js', 'lib/one.test.js']],
  [['s*/./lib/deep'], { parents: true }, ['lib', 'lib/deep', 'lib/deep/two.js']],
  [['**/a.txt'], { parents: true }, ['a.txt', 'docs', 'docs/a.txt']],
  [['src/lib'], { parents: true, exclude: ['**/*.test.js', '**/deep'] }, ['src', 'src/lib', 'src/lib/one.js']],
]

test.each(cases)('%j with %j', async (sources, options, expected) => {
  const context = await contextOfFiles(tree)
  expect(await names(await context.select(sources, options))).toEqual([...expected].sort())
})

test.each([
  [['none.txt'], {}],
  [['a.txt', 'none.txt'], {}],
  [['none*'], {}],
  [['src/none/x'], {}],
  [['a.txt/x'], {}],
  [['none/./x'], { parents: true }],
  [['src/./none'], { parents: true }],
] as const)('%j with %j matches nothing, and the error says what', async (sources, options) => {
  const context = await contextOfFiles(tree)
  const named = expect.objectContaining({
    code: 'step_failed',
    message: expect.stringMatching(/none|a\.txt\/x/),
    hint: expect.stringContaining('.dockerignore'),
  })
  await expect(context.select(sources, options)).rejects.toThrow(named)
})

test.each(['[', '[a', 'x[]', '[a-]', '[z', 'a*\\'])('%j is not a valid pattern', async (pattern) => {
  const context = await contextOfFiles(tree)
  await expect(context.select([`${pattern}*`.replace('\\*', '\\')])).rejects.toThrow(
    expect.objectContaining({ code: 'dockerfile_invalid' }),
  )
})

test('one file can be renamed to the destination, several cannot', async () => {
  const context = await contextOfFiles(tree)
  expect((await context.select(['a.txt'])).kind).toBe('file')
  expect((await context.select(['a*'])).kind).toBe('file')
  expect((await context.select(['a.txt', 'b.md'])).kind).toBe('tree')
  expect((await context.select(['src/lib/deep'])).kind).toBe('tree')
  expect((await context.select(['a.txt'], { parents: true })).kind).toBe('tree')
  expect(await context.select(['a.txt'], { exclude: ['a.txt'] })).toMatchObject({ kind: 'tree', entries: 0 })
})

test('a source that is a link is followed within the context only, and links in directories stay links', async () => {
  const context = await contextOf([
    member.directory('real'),
    member.file('real/file', 'text'),
    member.symlink('real/out', '/etc/passwd'),
    member.symlink('to-dir', 'real'),
    member.symlink('to-file', '/to-dir/file'),
    member.symlink('climb', '../../../../real/file'),
    member.symlink('dangling', '/etc/passwd'),
    member.symlink('loop', 'loop'),
  ])
  expect(await listing(await context.select(['to-dir']))).toEqual({ file: '644 text', out: '-> /etc/passwd' })
  expect(await listing(await context.select(['to-file']))).toEqual({ 'to-file': '644 text' })
  expect(await listing(await context.select(['climb']))).toEqual({ climb: '644 text' })
  expect(await listing(await context.select(['to-dir/*e']))).toEqual({ file: '644 text' })
  await expect(context.select(['dangling'])).rejects.toThrow(/dangling/)
  await expect(context.select(['real/out'])).rejects.toThrow(/real\/out/)
  await expect(context.select(['loop'])).rejects.toThrow(/too many links/)
})

test('hard links stay hard links, and have their content if only one of them is selected', async () => {
  const context = await contextOf([
    member.file('x/one', 'same', { mode: 0o4755 }),
    member.hardlink('x/two', 'x/one'),
    member.hardlink('other', 'x/two'),
  ])
  expect(await listing(await context.select(['x']))).toEqual({ one: '4755 same', two: '= one' })
  expect(await listing(await context.select(['other']))).toEqual({ other: '4755 same' })
  expect((await context.select(['.'])).contentBytes).toBe(4)
})

test('the later source wins, and a name is never both a directory and a file', async () => {
  const context = await contextOf([
    member.file('one/f', 'first'),
    member.file('two/f', 'second'),
    member.directory('three/f'),
    member.file('two/f', 'third'),
  ])
  expect(await listing(await context.select(['one', 'two']))).toEqual({ f: '644 third' })
  await expect(context.select(['one', 'three'])).rejects.toThrow(/both as a directory/)
  await expect(context.select(['three', 'one'])).rejects.toThrow(/both as a directory/)
})

test('patterns with exponential time are stopped', { timeout: 60_000 }, async () => {
  const files = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`${'a'.repeat(240)}${at}`, '']))
  const context = await contextOfFiles(files)
  const sources = Array.from({ length: 1000 }, () => `${'*a'.repeat(60)}b`)
  await expect(context.select(['.', ...sources])).rejects.toThrow(/too many names/)
})
