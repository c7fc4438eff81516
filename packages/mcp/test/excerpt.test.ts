import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Excerpt } from '../src/results/excerpt.ts'

const size = { headBytes: 40, tailBytes: 60 }

/** Adds a stream in pieces whose cursors begin at `first`. */
function excerptOf(bytes: Uint8Array, cuts: readonly number[], first = 0): Excerpt {
  const excerpt = new Excerpt(size)
  const ends = [...new Set([...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].toSorted((a, b) => a - b)
  let at = 0
  for (const end of ends) {
    if (end > at) excerpt.add(bytes.subarray(at, end), first + at)
    at = end
  }
  return excerpt
}

const line = fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => text.replaceAll(/[\u0000\ufffd]/g, ''))

test('a short stream is whole', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 3 }), fc.array(fc.nat()), (lines, cuts) => {
      const bytes = new TextEncoder().encode(lines.join('\n')).subarray(0, 100)
      const expected = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
      expect(excerptOf(bytes, cuts).text(() => expect.unreachable())).toBe(expected)
    }),
  )
})

test('a long stream has its beginning, its end, and a note with exactly the bytes between them', () => {
  fc.assert(
    fc.property(fc.array(line, { minLength: 20, maxLength: 60 }), fc.array(fc.nat()), (lines, cuts) => {
      const text = lines.map((one) => `${one}.\n`).join('')
      const bytes = new TextEncoder().encode(text)
      fc.pre(bytes.length > 101)
      const notes: { bytes: number; cursor: number }[] = []
      const shown = excerptOf(bytes, cuts, 1000).text((leftOut) => {
        notes.push(leftOut)
        return '<note>'
      })
      const [leftOut = { bytes: 0, cursor: 0 }] = notes
      const from = leftOut.cursor - 1000
      const middle = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(from, from + leftOut.bytes))
      const [head = '', tail = ''] = shown.split('<note>\n')
      expect(shown.length).toBeLessThan(120)
      // A head that is cut inside a line gets a line break before the note.
      expect([head + middle + tail, head.slice(0, -1) + middle + tail]).toContain(text)
      expect(shown).not.toContain('\ufffd')
    }),
  )
})

test('bytes that are no text are shown as they can be', () => {
  const shown = excerptOf(new Uint8Array(500).fill(0xff), []).text(({ bytes }) => `<${bytes}>`)
  expect(shown).toContain('\ufffd\n<')
})
