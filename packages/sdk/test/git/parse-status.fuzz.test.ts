import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseStatus } from '../../src/git/parse-status.ts'

const runs = 300

/** A path as git prints it with `-z`: any text without NUL. */
const path = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((text) => !text.includes('\0'))

test('every path comes back, however odd it is', () => {
  const kinds = fc.constantFrom('ordinary', 'untracked', 'renamed')
  fc.assert(
    fc.property(fc.array(fc.tuple(kinds, path, path), { maxLength: 20 }), (files) => {
      const id = 'a'.repeat(40)
      const lines = files.flatMap(([kind, now, before]) => {
        if (kind === 'untracked') return [`? ${now}`]
        if (kind === 'ordinary') return [`1 .M N... 100644 100644 100644 ${id} ${id} ${now}`]
        return [`2 R. N... 100644 100644 100644 ${id} ${id} R100 ${now}`, before]
      })
      const { entries, clean } = parseStatus([...lines, ''].join('\0'))
      expect(entries.map((entry) => [entry.path, entry.previous_path])).toEqual(
        files.map(([kind, now, before]) => [now, kind === 'renamed' ? before : null]),
      )
      expect(clean).toBe(files.length === 0)
    }),
    { numRuns: runs },
  )
})

test('any text is parsed without an error', () => {
  const piece = fc.oneof(fc.string(), fc.constantFrom('\0', '# branch.ab +1 -2', '1 ', '2 R. ', 'u UU ', '? ', ' '))
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const status = parseStatus(pieces.join(''))
      expect(status.entries.every((entry) => entry.path !== '')).toBe(true)
    }),
    { numRuns: runs },
  )
})
