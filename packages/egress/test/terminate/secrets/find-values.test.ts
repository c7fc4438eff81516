import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ValueFinder } from '../../../src/terminate/secrets/find-values.ts'

test('finds each place of each value, including overlaps', () => {
  const letters = (length: number) =>
    fc.string({ unit: fc.constantFrom('a', 'b'), minLength: length, maxLength: length })
  fc.assert(
    fc.property(fc.uniqueArray(letters(4), { minLength: 1, maxLength: 3 }), letters(40), (values, text) => {
      const finder = new ValueFinder(
        4,
        values.map((value, at) => ({ at, bytes: Buffer.from(value) })),
      )
      const found: string[] = []
      finder.read(Buffer.concat([Buffer.alloc(4), Buffer.from(text)]), 4, (value, end) =>
        found.push(`${value} ${end - 4}`),
      )
      const expected = Array.from(text, (_, at) => at + 1).flatMap((end) =>
        values.flatMap((value, at) => (text.slice(0, end).endsWith(value) ? [`${at} ${end}`] : [])),
      )
      expect(found).toEqual(expected)
    }),
  )
})

test('takes as long for repeated prefixes of a value as for other text', () => {
  const value = 'sk-the-real-value-0123456789'
  const finder = new ValueFinder(value.length, [{ at: 0, bytes: Buffer.from(value) }])
  const texts = ['x', 's', value.slice(0, -1)].map((fill) => Buffer.alloc(2 ** 15, fill))
  const fastest = texts.map(() => Number.POSITIVE_INFINITY)
  // The shortest of many short runs in turn: other work of the machine only adds time, and some
  // runs are undisturbed.
  for (let round = 0; round < 1_000; round++)
    for (const [at, text] of texts.entries()) {
      const started = performance.now()
      finder.read(text, value.length, () => {})
      fastest[at] = Math.min(fastest[at] ?? 0, performance.now() - started)
    }
  // A search by letters (`Buffer.indexOf`) takes about ten times as long for the second as for the
  // first.
  expect(Math.max(...fastest) / Math.min(...fastest)).toBeLessThan(3)
})
