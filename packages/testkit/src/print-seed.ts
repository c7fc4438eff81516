import { randomInt } from 'node:crypto'
import { testLength } from './test-length.ts'
import { seedVariable, testSeed } from './test-seed.ts'

/**
 * Sets the seed of a run without one, and prints the settings that repeat the run (vitest's global
 * setup).
 */
export function setup(): void {
  process.env[seedVariable] ||= String(randomInt(2 ** 32))
  console.log(`To repeat this run: HOLT_TEST_LENGTH=${testLength()} ${seedVariable}=${testSeed()}`)
}
