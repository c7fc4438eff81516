import { createHash } from 'node:crypto'
import { Chance } from './chance.ts'
import { testLength } from './test-length.ts'
import { testSeed } from './test-seed.ts'

/**
 * Returns a share of the items (0 to 1, rounded up), in their order. Returns all items unless the
 * run is short. The same seed and subject give the same items, regardless of other draws. Over many
 * seeds every item is drawn.
 */
export function shareOf<Item>(items: readonly Item[], share: number, subject: string): readonly Item[] {
  if (testLength() !== 'short') return items
  return new Chance(seedOf(subject)).some(items, Math.ceil(items.length * share))
}

/** Returns the items that `shareOf` does not draw, in their order. */
export function leftOutOf<Item>(items: readonly Item[], share: number, subject: string): readonly Item[] {
  const here = new Set(shareOf(items, share, subject))
  return items.filter((item) => !here.has(item))
}

/** Returns a separate seed for a subject, so that a draw does not depend on earlier draws. */
export function seedOf(subject: string): number {
  return createHash('sha256').update(`${testSeed()} ${subject}`).digest().readUInt32LE()
}
