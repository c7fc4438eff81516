import { oddShapeOf } from '@holt/engine'
import { invalidField } from './field-issues.ts'

/** The schemas need three levels, and what has more values is many times what any schema takes. */
const bounds = { maxDepth: 32, maxValues: 100_000 }

/** Refuses JSON that is nested too deep or has too many values, before anything is made of it. */
export function refuseOddShape(bytes: Buffer): void {
  const odd = oddShapeOf(bytes, bounds)
  if (odd !== null) throw invalidField('', `must not ${odd}`)
}
