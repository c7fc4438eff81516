import { expect, test } from 'vitest'
import { canBe } from '../../src/files/home-path.ts'

test.each([
  ['/a/b', '/a/b', true],
  ['/a//./b/', '/a/b', true],
  ['/a/../b', '/b', true],
  ['/', '/', true],
  ['/a', '/b', false],
  ['/a', '/home/user/a', false],
  ['', '/home/user', true],
  ['~', '/root', true],
  ['~/x/../y', '/home/user/y', true],
  ['a/b/', '/home/user/a/b', true],
  ['a/b', '/home/user/b', false],
  ['../other', '/home/other', true],
  ['~x', '/home/user/~x', true],
  ['~x', '/home/user/x', false],
])('%j can be %s: %s', (path, answered, expected) => {
  expect(canBe(path, answered)).toBe(expected)
})
