import { TarError } from '@holt/tar'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeKeptNames } from '../../src/export/kept-names.ts'

/** Bytes of a name: anything but NUL and the slash. */
const name = fc
  .uint8Array({ minLength: 1, maxLength: 20 })
  .map((bytes) => Buffer.from(bytes).map((byte) => (byte === 0 || byte === 0x2f ? 0x61 : byte)))
const directory = fc.array(name, { maxLength: 3 }).map((names) => Buffer.concat(names.flatMap((each) => [each, SLASH])))
const SLASH = Buffer.from('/')
const NUL = Buffer.alloc(1)

test('a list of names is decoded as it was encoded', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ directory, names: fc.array(name, { minLength: 1, maxLength: 5 }) })), (lists) => {
      const expected = lists.map((list) => ({
        directory: list.directory.length === 0 ? Buffer.from('./') : list.directory,
        names: list.names.map((each) => Buffer.from(each)),
      }))
      const bytes = expected.flatMap((list) => [list.directory, ...list.names].flatMap((text) => [text, NUL]))
      expect([...decodeKeptNames(Buffer.concat(bytes))]).toEqual(expected)
    }),
  )
})

test('a long list of names is split into groups', () => {
  const names = Array.from({ length: 2500 }, (_, index) => String(index))
  const groups = [...decodeKeptNames(Buffer.from(['./', ...names, ''].join('\0')))]
  expect(groups.map((group) => [String(group.directory), group.names.length])).toEqual([
    ['./', 1000],
    ['./', 1000],
    ['./', 500],
  ])
  expect(groups.flatMap((group) => group.names.map(String))).toEqual(names)
})

test('any bytes are lists of plain names, or an input error', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .array(fc.constantFrom('a', '/', '\0', './\0', '..'), { maxLength: 30 })
      .map((parts) => Buffer.from(parts.join(''))),
  )
  fc.assert(
    fc.property(bytes, (list) => {
      try {
        for (const { directory, names } of decodeKeptNames(Buffer.from(list))) {
          expect(directory.at(-1)).toBe(0x2f)
          for (const each of names)
            expect([each.length > 0, each.includes(0), each.includes(0x2f)]).toEqual([true, false, false])
        }
      } catch (error) {
        expect(error).toBeInstanceOf(TarError)
      }
    }),
  )
})
