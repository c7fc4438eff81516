import { oddShapeOf } from '@holt/async'
import { invalidField } from '../../foundation/wire/field-issues.ts'

/**
 * The bounds of a JSON body. A network policy may have 256 rules of 150 values each, in three
 * levels. The steps of a build may have 30,000 sources and variables, and 7 values more for each of
 * 1,000 steps. One build cannot have both: a policy of this size is made first, and the build names
 * it.
 *
 * A schema takes about a microsecond for each wrong value, and nothing else runs meanwhile.
 */
const bounds = { maxDepth: 32, maxValues: 40_000 }

/**
 * Throws if JSON is nested too deep or has too many values. Nothing has been made of it by then.
 */
export function refuseOddShape(bytes: Buffer): void {
  const odd = oddShapeOf(bytes, bounds)
  if (odd !== null) throw invalidField('', `must not ${odd}`)
}
