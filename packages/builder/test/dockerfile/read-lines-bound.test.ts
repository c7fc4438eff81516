import { expect, test } from 'vitest'
import { readLines } from '../../src/dockerfile/read-lines.ts'

test('no more instructions are parsed than needed', () => {
  const { lines } = readLines('FROM a\n'.repeat(1000), '\\', 10)
  expect(lines.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})
