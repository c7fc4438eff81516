import { oddShapeOf } from '@holt/engine'
import { invalidField } from './field-issues.ts'

/**
 * A network policy may have 250 rules of 150 values each, in three levels. The steps of a build may
 * name more paths than this; such a build names directories instead, or copies in several builds.
 * A schema takes about a microsecond for each wrong value, and nothing else runs meanwhile.
 */
const bounds = { maxDepth: 32, maxValues: 40_000 }

/** Refuses JSON that is nested too deep or has too many values, before anything is made of it. */
export function refuseOddShape(bytes: Buffer): void {
  const odd = oddShapeOf(bytes, bounds)
  if (odd !== null) throw invalidField('', `must not ${odd}`)
}
