import { posix, win32 } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isPlainName } from '../../src/tree/plain-name.ts'

test.each(['', '.', '..', 'a/b', '/a', 'a\0b'])('%j is not a valid file name on any system', (name) => {
  for (const platform of ['linux', 'darwin', 'win32'] as const) expect(isPlainName(name, platform)).toBe(false)
})

test.each(['..\\up', 'C:x', 'f:stream', 'NUL', 'con.txt', 'Com1', 'lpt9.log', 'aux ', 'a.', 'a '])(
  '%j is valid on Linux and not on Windows',
  (name) => {
    expect(isPlainName(name, 'linux')).toBe(true)
    expect(isPlainName(name, 'win32')).toBe(false)
  },
)

test.each(['f', '.hidden', 'a b', 'console', 'nullable.txt', '$(id)', 'ä'])('%j is valid', (name) => {
  for (const platform of ['linux', 'win32'] as const) expect(isPlainName(name, platform)).toBe(true)
})

test('a plain name stays in its directory', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom(...'./\\:ab') })), (name) => {
      if (isPlainName(name, 'linux')) expect(posix.dirname(posix.resolve('/here', name))).toBe('/here')
      if (isPlainName(name, 'win32')) expect(win32.dirname(win32.resolve('C:\\here', name))).toBe('C:\\here')
      expect(isPlainName(`${name}/x`, 'linux')).toBe(false)
    }),
  )
})
