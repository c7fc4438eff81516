import { expect, test } from 'vitest'
import { staysInside } from '../../src/tree/link-target.ts'

test.each([
  ['link', 'file', true],
  ['link', './a/b', true],
  ['a/link', '../file', true],
  ['a/b/link', '../..', true],
  ['link', '..', false],
  ['a/link', '../../x', false],
  ['link', '/etc/passwd', false],
  ['link', '', false],
  ['link', 'a\0', false],
  ['link', 'other-link/../../etc', false],
  ['a/b/link', '../c/../d', false],
])('a link %j to %j stays inside: %s', (relative, target, inside) => {
  expect(staysInside(relative, target)).toBe(inside)
})
