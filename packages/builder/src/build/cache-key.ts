import { createHash } from 'node:crypto'

/**
 * Changes when a step does something else than it did, so that states of another version are not
 * gone on from.
 */
const FORMAT = 1

/**
 * The key of a state: what it began with, and what was done to it. Equal values give equal keys,
 * whatever the order of their properties.
 */
export function cacheKey(parent: string | null, step: unknown): string {
  return createHash('sha256')
    .update(canonical([FORMAT, parent, step]))
    .digest('hex')
}

/** JSON with the properties of objects in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )
}
