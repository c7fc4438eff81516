import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LastLines } from '../../src/output/last-lines.ts'

/** The last lines of pieces, by LastLines. */
function lastOf(count: number, pieces: readonly string[]): string {
  const lines = new LastLines(count)
  for (const piece of pieces) lines.add({ stream: process.stdout, bytes: Buffer.from(piece) })
  return Buffer.concat(lines.take().map(({ bytes }) => bytes)).toString()
}

test.each([
  [1, ['a\nb\nc\n'], 'c\n'],
  [2, ['a\nb', '\nc'], 'b\nc'],
  [1, ['a\n', 'no end'], 'no end'],
  [2, ['a\n', '\n', '\n'], '\n\n'],
  [5, ['a\n'], 'a\n'],
  [0, ['a\nb'], ''],
])('the last %i lines of %j', (count, pieces, wanted) => {
  expect(lastOf(count, pieces)).toBe(wanted)
})

test('are those of the whole text, however it is split', () => {
  const text = fc.array(fc.constantFrom('a', '\n', 'bc'), { maxLength: 12 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.nat(5), fc.array(text, { maxLength: 6 }), (count, pieces) => {
      const lines = pieces.join('').match(/[^\n]*\n|[^\n]+$/g) ?? []
      expect(lastOf(count, pieces)).toBe(lines.slice(Math.max(0, lines.length - count)).join(''))
    }),
  )
})
