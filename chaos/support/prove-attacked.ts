import { expect } from 'vitest'
import type { Evidence, Tally } from './attacker/target.ts'

/**
 * Fails if an attack was not effective: it did too little, or got answers that an effective one
 * does not get.
 */
export function proveAttacked({ least, answers = {} }: Evidence, tally: Tally): void {
  const { answers: given, ...counts } = tally
  const all = JSON.stringify(tally)
  for (const [what, count] of Object.entries(least))
    expect(counts[what as keyof typeof counts], `${what} in ${all}`).toBeGreaterThanOrEqual(count)
  for (const [answer, count] of Object.entries(answers))
    expect(given[answer] ?? 0, `answers ${answer} in ${all}`).toBeGreaterThanOrEqual(count)
  expect(Object.keys(answers), `answers that nobody is given whose attack is one: ${all}`).toEqual(
    expect.arrayContaining(Object.keys(given)),
  )
}
