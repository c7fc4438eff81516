import { testSeed } from '@holt/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ChangePage } from '../../../src/inside/diff/change-page.ts'

const change = (path: string) => ({
  path: Buffer.from(path),
  before: null,
  after: null,
  isOpen: false,
  isModified: false,
})

const bounds = fc.record({ size: fc.integer({ min: 1, max: 5 }), maxPathBytes: fc.integer({ min: 1, max: 12 }) })

test('pages have all changes in order, whatever the order in which they were added', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ maxLength: 3 })), bounds, (paths, { size, maxPathBytes }) => {
      const sorted = paths.map((path) => Buffer.from(path)).sort(Buffer.compare)
      const found: Buffer[] = []
      for (let more = true; more; ) {
        const page = new ChangePage({ after: found.at(-1) ?? null, size, maxPathBytes })
        for (const path of paths) page.add(change(path))
        const end = page.end()
        found.push(...end.changes.map(({ path }) => path))
        more = end.more
        expect(end.changes.length).toBeLessThanOrEqual(size)
        const bytes = end.changes.reduce((sum, { path }) => sum + path.length, 0)
        expect(bytes <= maxPathBytes || end.changes.length === 1).toBe(true)
      }
      expect(found).toEqual(sorted)
    }),
    { seed: testSeed() | 0 },
  )
})

test('long paths make pages with fewer changes', () => {
  const page = new ChangePage({ after: null, size: 1000, maxPathBytes: 10_000 })
  for (let at = 999; at >= 0; at -= 1) page.add(change(`/${String(at).padStart(4094, '0')}`))
  const { changes, more } = page.end()
  expect(changes.map(({ path }) => Number(path.subarray(1)))).toEqual([0, 1])
  expect(more).toBe(true)
})
