import { createHash } from 'node:crypto'
import { idPrefixes, textOfBytes } from '@holt/protocol'

/**
 * Returns the ids of a fork's children. They are derived from the first one, so that a repeated
 * fork finds the children of the earlier attempt.
 */
export function childIds(first: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => (index === 0 ? first : derivedId(first, index)))
}

/**
 * Returns an id of 20 unbiased characters. It needs 20 of 64 bytes below the last whole multiple of
 * 36. Fewer than 20 occur less than once in 10^30 digests.
 */
function derivedId(first: string, index: number): string {
  const bytes = createHash('sha512').update(`${first} ${index}`).digest()
  return `${idPrefixes.runtime}${textOfBytes(bytes).slice(0, 20)}`
}
