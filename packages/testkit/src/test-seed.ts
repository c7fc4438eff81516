import { randomInt } from 'node:crypto'

/** The environment variable that holds the seed of a run. */
export const seedVariable = 'HOLT_TEST_SEED'

/** The limit of a seed: `Chance` starts from 32 bits. */
const seedLimit = 2 ** 32

/**
 * Returns the seed of this run, a whole number below 2^32. Every draw of the run follows from it.
 * Throws if the variable is no such number, or is missing: `print-seed.ts` sets it before the first
 * test.
 */
export function testSeed(setting = process.env[seedVariable]): number {
  if (setting === undefined || setting === '')
    throw new Error(
      `${seedVariable} is not set; add @holt/testkit/print-seed to globalSetup in the vitest configuration`,
    )
  const seed = Number(setting)
  if (!/^\d+$/.test(setting) || seed >= seedLimit)
    throw new Error(`${seedVariable} is "${setting}"; set it to a whole number below ${seedLimit}`)
  return seed
}

/** Sets the seed of a run that has none. */
export function seedRun(): void {
  process.env[seedVariable] ||= String(randomInt(seedLimit))
}
