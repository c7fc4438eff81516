import { testLength } from './test-length.ts'
import { seedRun, seedVariable, testSeed } from './test-seed.ts'

/**
 * Sets the seed of a run without one, and prints the settings that repeat the run (vitest's global
 * setup).
 */
export function setup(): void {
  seedRun()
  console.log(`To repeat this run: HOLT_TEST_LENGTH=${testLength()} ${seedVariable}=${testSeed()}`)
}
