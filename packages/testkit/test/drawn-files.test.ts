import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { faults } from '../../../scripts/faults/faults.ts'
import { byLength, drawnFiles, drawnLists, drawnShares, filesLeftOut } from '../src/index.ts'

const repository = join(import.meta.dirname, '../../..')
const all = drawnLists.flatMap((list) => drawnFiles[list])

test.each(drawnLists)('a short run has its share of the list %s, and a long run all', (list) => {
  const names = filesLeftOut().filter((name) => drawnFiles[list].includes(name))
  const { length } = drawnFiles[list]
  const count = length - Math.ceil(length * drawnShares[list])
  expect(names).toHaveLength(byLength({ short: count, long: 0, soak: 0 }))
})

test.each(all)('%s exists', (name) => {
  expect(existsSync(join(repository, name))).toBe(true)
})

test('every run has the files that find a deliberate fault', () => {
  const needed = faults.flatMap(({ tests }) => tests)
  expect(needed.filter((file) => all.includes(file))).toEqual([])
})
