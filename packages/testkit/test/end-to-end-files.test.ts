import { expect, test } from 'vitest'
import { allFiles, drawn, leftOut, ofTheClass } from '../../../e2e/support/files-of-run.ts'
import { faults } from '../../../scripts/faults/faults.ts'
import { byLength } from '../src/index.ts'

test('a short run leaves out three quarters of the drawn end-to-end files, and a long run none', () => {
  const names = leftOut()
  expect(drawn).toEqual(expect.arrayContaining([...names]))
  const count = drawn.length - Math.ceil(drawn.length / 4)
  expect(names).toHaveLength(byLength({ short: count, long: 0, soak: 0 }))
})

test('the lists name files that exist, once each', () => {
  const named = [...drawn, ...ofTheClass]
  expect(allFiles()).toEqual(expect.arrayContaining(named))
  expect(named).toEqual([...new Set(named)])
})

test('every run has the files that find a deliberate fault', () => {
  const needed = faults.flatMap(({ step, tests }) => (step === 'end-to-end' ? tests : []))
  expect(needed).not.toEqual([])
  expect(needed.filter((file) => drawn.some((name) => file === `e2e/${name}.test.ts`))).toEqual([])
})
