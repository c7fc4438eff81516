import { posix, win32 } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isPlainName } from '../../src/tree/plain-name.ts'

test.each(['', '.', '..', 'a/b', '/a', 'a\0b'])('%j is no name of a file anywhere', (name) => {
  for (const platform of ['linux', 'darwin', 'win32'] as const) expect(isPlainName(name, platform)).toBe(false)
})

test.each(['..\\up', 'C:x', 'f:stream', 'NUL', 'con.txt', 'Com1', 'lpt9.log', 'aux ', 'a.', 'a '])(
  '%j is a name on Linux and none on Windows',
  (name) => {
    expect(isPlainName(name, 'linux')).toBe(true)
    expect(isPlainName(name, 'win32')).toBe(false)
  },
)

test.each(['f', '.hidden', 'a b', 'console', 'nullable.txt', '$(id)', 'ä'])('%j is a name', (name) => {
  for (const platform of ['linux', 'win32'] as const) expect(isPlainName(name, platform)).toBe(true)
})

test('a plain name stays in the directory that it is made in', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom(...'./\\:ab') })), (name) => {
      if (isPlainName(name, 'linux')) expect(posix.dirname(posix.resolve('/here', name))).toBe('/here')
      if (isPlainName(name, 'win32')) expect(win32.dirname(win32.resolve('C:\\here', name))).toBe('C:\\here')
      expect(isPlainName(`${name}/x`, 'linux')).toBe(false)
    }),
  )
})
