import { createHash } from 'node:crypto'

/**
 * The version of the steps. It changes when a step has another result than before, so that states
 * of another version are not reused.
 */
const FORMAT = 1

/**
 * Returns the key of a state, from its parent state and its step. Equal values give equal keys,
 * regardless of the order of their properties.
 */
export function cacheKey(parent: string | null, step: unknown): string {
  return createHash('sha256')
    .update(canonical([FORMAT, parent, step]))
    .digest('hex')
}

/** Returns JSON with the properties of objects in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )
}
