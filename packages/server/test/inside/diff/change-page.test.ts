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

test('pages have all changes in order, whatever the order in which they were added', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ maxLength: 3 })), fc.integer({ min: 1, max: 5 }), (paths, size) => {
      const sorted = paths.map((path) => Buffer.from(path)).sort(Buffer.compare)
      const found: Buffer[] = []
      for (let more = true; more; ) {
        const page = new ChangePage({ after: found.at(-1) ?? null, size })
        for (const path of paths) page.add(change(path))
        const end = page.end()
        found.push(...end.changes.map(({ path }) => path))
        more = end.more
        expect(end.changes.length).toBeLessThanOrEqual(size)
      }
      expect(found).toEqual(sorted)
    }),
    { seed: testSeed() | 0 },
  )
})
