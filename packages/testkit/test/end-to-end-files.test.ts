import { expect, test } from 'vitest'
import { allFiles, drawn, filesOfRun, ofTheClass } from '../../../e2e/support/files-of-run.ts'
import { faults } from '../../../scripts/faults/faults.ts'
import { byLength } from '../src/index.ts'

test('a run has every end-to-end file that is not drawn, and its share of the others', () => {
  const names = filesOfRun()
  expect(names).toEqual(expect.arrayContaining(allFiles().filter((name) => !drawn.includes(name))))
  const share = Math.ceil(drawn.length / 3)
  expect(names.filter((name) => drawn.includes(name))).toHaveLength(
    byLength({ short: share, long: drawn.length, soak: drawn.length }),
  )
})

test('the lists name files that exist, once each', () => {
  const named = [...drawn, ...ofTheClass]
  expect(allFiles()).toEqual(expect.arrayContaining(named))
  expect(named).toEqual([...new Set(named)])
})

test('every run has the files that find a deliberate fault', () => {
  const needed = faults.flatMap(({ step, tests }) => (step === 'end-to-end' ? tests : []))
  expect(needed).not.toEqual([])
  expect(filesOfRun().map((name) => `e2e/${name}.test.ts`)).toEqual(expect.arrayContaining(needed))
})
