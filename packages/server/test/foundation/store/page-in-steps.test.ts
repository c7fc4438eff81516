import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findPage } from '../../../src/foundation/store/page-in-steps.ts'

const mib = 2 ** 20

/** All pages of rows numbered from 1, where some match. */
async function pagesOf(sizes: readonly (number | null)[], limit: number, examined: number): Promise<number[][]> {
  const rows = sizes.map((bytes, index) => ({ seq: index + 1, bytes })).toReversed()
  const before = (place: number) => rows.filter(({ seq }) => seq < place)
  const finding = {
    reach: async (place: number, count: number) => before(place)[count - 1]?.seq ?? null,
    find: async (range: { before: number; from: number }, count: number) =>
      before(range.before)
        .filter(({ seq }) => seq >= range.from)
        .flatMap(({ seq, bytes }) => (bytes === null ? [] : [{ seq, bytes }]))
        .slice(0, count),
  }
  const pages: number[][] = []
  for (let cursor: string | undefined; ; ) {
    const page = await findPage(finding, { limit, cursor }, examined)
    expect(page.seqs.length <= 1 || page.bytes <= mib).toBe(true)
    pages.push([...page.seqs])
    if (page.nextCursor === null) return pages
    cursor = page.nextCursor
  }
}

test('pages have every matching row once, newest first, within the limit', async () => {
  const size = fc.option(fc.oneof(fc.constant(10), fc.integer({ min: 0, max: 2 * mib })))
  const limits = fc.integer({ min: 1, max: 5 })
  await fc.assert(
    fc.asyncProperty(fc.array(size, { maxLength: 30 }), limits, limits, async (sizes, limit, examined) => {
      const pages = await pagesOf(sizes, limit, examined)
      const wanted = sizes.flatMap((bytes, index) => (bytes === null ? [] : [index + 1])).toReversed()
      expect(pages.flat()).toEqual(wanted)
      expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(limit)
      expect(pages.slice(0, -1).every((page) => page.length > 0)).toBe(true)
    }),
  )
})
