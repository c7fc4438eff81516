import { expect, test } from 'vitest'
import { hexOf, isRuntimeId, layoutOf } from '../../src/installation/layout.ts'

test('keeps every path of a runtime below its own directories', () => {
  const paths = layoutOf('/state', '/run/h').runtime('a'.repeat(22))
  expect(paths.diskImage).toBe(`/state/runtimes/${'a'.repeat(22)}/disk.img`)
  expect(paths.socket).toBe(`/run/h/${'a'.repeat(22)}/control.sock`)
})

test.each(['', '..', '../../etc', 'A'.repeat(22), 'a'.repeat(21), `${'a'.repeat(21)}/`])(
  'refuses the runtime id %j',
  (id) => {
    expect(isRuntimeId(id)).toBe(false)
    expect(() => layoutOf('/state', '/run/h').runtime(id)).toThrow(expect.objectContaining({ kind: 'invalid' }))
  },
)

test.each(['', '.', '..', '.tmp-1', 'a/b', 'a\0b', 'x'.repeat(65)])('refuses the checkpoint id %j', (id) => {
  expect(() => layoutOf('/state', '/run/h').checkpoint(id)).toThrow(expect.objectContaining({ kind: 'invalid' }))
})

test('refuses a run directory that is too long for socket paths', () => {
  expect(() => layoutOf('/state', `/run/${'x'.repeat(80)}`)).toThrow(/too long/)
})

test('splits a digest, and refuses similar text', () => {
  expect(hexOf(`sha256:${'0a'.repeat(32)}`)).toBe('0a'.repeat(32))
  expect(() => hexOf(`sha256:${'0A'.repeat(32)}`)).toThrow()
  expect(() => hexOf(`sha256:${'0a'.repeat(32)}\n`)).toThrow()
})
