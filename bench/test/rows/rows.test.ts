import { expect, it } from 'vitest'
import { rows, rowsToRun } from '../../rows/rows.ts'
import { rowsByEnvironment } from '../../rows/rows-by-environment.ts'

it('measures each row of the table once', () => {
  expect(rowsToRun.toSorted((one, other) => rows.indexOf(one) - rows.indexOf(other))).toEqual(rows)
})

it('measures rows that share a daemon one after the other', () => {
  expect(rowsByEnvironment(rowsToRun).flatMap((group) => group.rows)).toEqual(rowsToRun)
})
