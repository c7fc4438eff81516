import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeMetadata, ListSandboxes, readQuery } from '../../src/index.ts'

/** Encodes metadata three times, as the clients do. */
function encoded(metadata: Readonly<Record<string, string>>): string {
  const once = Object.entries(metadata).map(([key, value]): [string, string] => [
    encodeURIComponent(key),
    encodeURIComponent(value),
  ])
  return `metadata=${encodeURIComponent(new URLSearchParams(once).toString())}`
}

it('reads the metadata that was observed', () => {
  expect(encoded({ 'a b': 'c&d', k: 'v' })).toBe('metadata=a%252520b%3Dc%252526d%26k%3Dv')
  const { metadata } = ListSandboxes.parse(readQuery('metadata=a%252520b%3Dc%252526d%26k%3Dv'))
  expect(metadata).toEqual({ 'a b': 'c&d', k: 'v' })
})

it('reads any metadata', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter((one) => one.isWellFormed())
  fc.assert(
    fc.property(fc.dictionary(text, text), (metadata) => {
      const { metadata: read = {} } = ListSandboxes.parse(readQuery(encoded(metadata)))
      expect(Object.entries(read)).toEqual(Object.entries(metadata))
    }),
  )
})

it.each(['a=%', 'a=%25%ff', '%e0%a4=b'])('refuses the damaged %s, or reads it as text', (form) => {
  const read = decodeMetadata(form)
  expect(read === null || Object.values(read).every((value) => typeof value === 'string')).toBe(true)
})

it.each([
  ['state=running%2Cpaused', ['running', 'paused']],
  ['state=running,paused', ['running', 'paused']],
  ['state=paused', ['paused']],
])('reads %s', (query, state) => {
  expect(ListSandboxes.parse(readQuery(query)).state).toEqual(state)
})

it.each(['state=gone', 'limit=0', 'limit=101', 'order=up', 'startedAfter=yesterday', 'metadata=%2525'])(
  'refuses %s',
  (query) => {
    expect(ListSandboxes.safeParse(readQuery(query)).success).toBe(false)
  },
)
