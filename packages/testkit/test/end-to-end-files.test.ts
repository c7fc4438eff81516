import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  aboutLives,
  allFiles,
  crashFiles,
  drawn,
  drawnCrashFiles,
  leftOut,
  ofTheClass,
  slow,
  slowest,
} from '../../../e2e/support/files-of-run.ts'
import { faults } from '../../../scripts/faults/faults.ts'
import { byLength } from '../src/index.ts'

const lists = [...drawn, ...aboutLives, ...slow, ...slowest]

test('a short run has its share of each list of files, and a long run all', () => {
  const names = leftOut()
  const here = Math.ceil(drawn.length / 4) + Math.ceil(aboutLives.length / 3) + Math.ceil(slow.length / 4)
  expect(lists).toEqual(expect.arrayContaining([...names]))
  expect(names).toHaveLength(byLength({ short: lists.length - here, long: 0, soak: 0 }))
  const { length } = crashFiles
  expect(drawnCrashFiles()).toHaveLength(byLength({ short: 2, long: length, soak: length }))
})

test('the lists name files that exist, once each', () => {
  expect(allFiles()).toEqual(expect.arrayContaining([...lists, ...ofTheClass]))
  expect(lists).toEqual([...new Set(lists)])
  for (const name of crashFiles) {
    expect(existsSync(join(import.meta.dirname, `../../../chaos/${name}.test.ts`))).toBe(true)
  }
})

test('every run has the files that find a deliberate fault', () => {
  const needed = faults.flatMap(({ step, tests }) => (step === 'end-to-end' ? tests : []))
  expect(needed).not.toEqual([])
  expect(needed.filter((file) => lists.some((name) => file === `e2e/${name}.test.ts`))).toEqual([])
})
