import { createHash } from 'node:crypto'
import { Chance } from './chance.ts'
import { testLength } from './test-length.ts'
import { testSeed } from './test-seed.ts'

/**
 * Returns a share of the items (0 to 1, rounded up), in their order; all of them unless the run is short. The same seed
 * and subject give the same items, whatever else the run draws. Over many seeds every item comes.
 */
export function shareOf<Item>(items: readonly Item[], share: number, subject: string): readonly Item[] {
  if (testLength() !== 'short') return items
  return new Chance(seedOf(subject)).some(items, Math.ceil(items.length * share))
}

/** Returns a seed of the subject's own, so that one draw does not depend on the draws before it. */
function seedOf(subject: string): number {
  return createHash('sha256').update(`${testSeed()} ${subject}`).digest().readUInt32LE()
}
