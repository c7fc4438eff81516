import { expect, test } from 'vitest'
import { tableLines } from '../../src/output/table.ts'

test('a column is as wide as its longest cell, for any number of rows', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => index)
  const lines = tableLines(rows, [
    ['N', (row) => String(row)],
    ['SAME', () => 'x'],
  ])
  expect(lines).toHaveLength(200_001)
  expect(lines[1]).toBe('0       x')
})
