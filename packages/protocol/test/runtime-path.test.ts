import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalPath, RuntimePath } from '../src/index.ts'

test.each([
  ['/', '/'],
  ['/a/b', '/a/b'],
  ['//a///b/', '/a/b'],
  ['/a b/ü', '/a b/ü'],
  [`/${'a/'.repeat(2000)}`, `/${'a/'.repeat(2000)}`.slice(0, -1)],
])('%s is %s', (text, path) => {
  expect(canonicalPath(text)).toEqual({ path })
})

test.each([
  '',
  'a',
  './a',
  '../a',
  '/a/../b',
  '/a/.',
  '/a\0b',
  `/${'a/'.repeat(2048)}`,
  `/${'a'.repeat(256)}`,
  '/\ud800',
])('%j is refused', (text) => {
  expect(canonicalPath(text)).toHaveProperty('problem')
})

test('a wrong path has the error invalid_path', () => {
  const { error } = RuntimePath.safeParse('relative')
  expect(error?.issues[0]).toMatchObject({ code: 'custom', params: { error: 'invalid_path' } })
})

test('a canonical path is unchanged by a second pass, and has no . or .. part', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'bb', '.', '..', '', '\0', 'é', '%2e')), (parts) => {
      const result = canonicalPath(`/${parts.join('/')}`)
      if ('problem' in result) return
      expect(canonicalPath(result.path)).toEqual(result)
      expect(result.path.split('/').slice(1)).not.toContain('..')
    }),
  )
})
