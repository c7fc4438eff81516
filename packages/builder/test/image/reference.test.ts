import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BuilderError } from '../../src/errors.ts'
import { parseReference, pinned } from '../../src/image/reference.ts'

test.each([
  ['debian', null, false],
  ['debian:13-slim', null, false],
  [`team/app@sha256:${'a'.repeat(64)}`, null, false],
  ['registry.test:5000/a/b:1', 'registry.test:5000', false],
  ['08/a', null, false],
  ['localhost/a', 'localhost', true],
  ['localhost:5000/a', 'localhost:5000', true],
  ['127.0.0.1:5000/a:b', '127.0.0.1:5000', true],
  ['[::1]:5000/a', '[::1]:5000', true],
  ['localhost.evil.test/a', 'localhost.evil.test', false],
  ['127.0.0.1.evil.test/a', '127.0.0.1.evil.test', false],
])('%s is a valid reference', (text, registry, loopback) => {
  expect(parseReference(text)).toMatchObject({ text, registry, loopback })
})

test.each([
  ['debian', 'debian', null],
  ['debian:13-slim', 'debian', null],
  ['registry.test:5000/a/b:1', 'registry.test:5000/a/b', null],
  [`registry.test:5000/a:1@sha256:${'a'.repeat(64)}`, 'registry.test:5000/a', `sha256:${'a'.repeat(64)}`],
])('%s is named %s, and its digest is %s', (text, name, digest) => {
  const reference = parseReference(text)
  expect(reference).toMatchObject({ name, digest })
  expect(parseReference(pinned(reference, `sha256:${'b'.repeat(64)}`))).toMatchObject({
    name,
    registry: reference.registry,
  })
})

test.each([
  '',
  '-v',
  '--help',
  'a b',
  'a/B',
  'oci:/etc',
  'docker://a',
  'dir:/etc',
  'a\0b',
  'a\n',
  '../a',
  'registry.test:99999/a',
  `a@sha256:1`,
  'x'.repeat(600),
])('%j is refused', (text) => {
  expect(() => parseReference(text)).toThrow(BuilderError)
})

test('an accepted reference never looks like an option, a transport or two words', () => {
  const pieces = fc.constantFrom('a', '-', '/', ':', '.', '@', '_', ' ', '\0', '..', 'A', 'sha256', '[', ']', '0')
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      try {
        const { text } = parseReference(parts.join(''))
        expect(text).toMatch(/^[^-\s\0][^\s\0]*$/)
        expect(text).not.toContain('//')
      } catch (error) {
        expect(error).toBeInstanceOf(BuilderError)
      }
    }),
  )
})
