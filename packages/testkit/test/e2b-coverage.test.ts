import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { readCoverage } from '../../../scripts/e2b/coverage/coverage-data.ts'
import { mergeOutcomes } from '../../../scripts/e2b/coverage/merge-outcomes.ts'
import { pageFile, pageOf } from '../../../scripts/e2b/coverage/page.ts'
import { publishedMethods } from '../../../scripts/e2b/coverage/published-methods.ts'

/** The first run installs the packages. */
const limit = { timeout: 600_000 }

test('the coverage has exactly the public methods of the pinned packages', limit, async () => {
  const covered = readCoverage().map(({ methods, ...one }) => ({
    ...one,
    methods: methods.map(({ method }) => method),
  }))
  expect(covered).toEqual(await publishedMethods())
})

test('a method that does not work has a reason', () => {
  const all = readCoverage().flatMap(({ methods }) => methods)
  expect(all.filter(({ status, notes }) => (status === 'works') !== (notes.length === 0))).toEqual([])
})

test('the page is made from the coverage', async () => {
  expect(await readFile(pageFile, 'utf8')).toBe(pageOf(readCoverage()))
})

test('a method has the worst status of its checks, and one without a check is refused', () => {
  const packages = [{ name: 'p', language: 'Python', version: '1', methods: ['a', 'b'] }] as const
  const works = (method: string) => ({ method, status: 'works', note: null }) as const
  const differs = { method: 'a', status: 'differs', note: 'later' } as const
  expect(mergeOutcomes(packages, [works('a'), differs, works('a'), works('b')])[0]?.methods).toEqual([
    { method: 'a', status: 'differs', notes: ['later'] },
    { method: 'b', status: 'works', notes: [] },
  ])
  expect(() => mergeOutcomes(packages, [works('a')])).toThrow('no program calls b')
  expect(() => mergeOutcomes(packages, [works('a'), works('b'), works('c')])).toThrow('no public method c')
})
