import { expect, test } from 'vitest'
import { makingAtOnce } from '../../../src/runtimes/pools/refill-rate.ts'

test.each([
  { cpus: 1, startsAtOnce: 3, makes: 2 },
  { cpus: 2, startsAtOnce: 3, makes: 2 },
  { cpus: 8, startsAtOnce: 8, makes: 4 },
  { cpus: 12, startsAtOnce: 12, makes: 6 },
  { cpus: 128, startsAtOnce: 128, makes: 8 },
])('creates $makes at a time with $cpus processors', ({ makes, ...facts }) => {
  expect(makingAtOnce(facts)).toBe(makes)
})

test.each([
  { startsAtOnce: 2, makes: 1 },
  { startsAtOnce: 3, makes: 2 },
  { startsAtOnce: 5, makes: 4 },
])('leaves one of $startsAtOnce start slots to creates', ({ makes, startsAtOnce }) => {
  expect(makingAtOnce({ cpus: 64, startsAtOnce })).toBe(makes)
})
