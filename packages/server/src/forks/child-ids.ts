import { createHash } from 'node:crypto'
import { idPrefixes, textOfBytes } from '@holt/protocol'

/**
 * The ids of a fork's children. They follow from the first, so that a fork that is repeated finds
 * those of the earlier try.
 */
export function childIds(first: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => (index === 0 ? first : derivedId(first, index)))
}

/**
 * 20 characters without bias: of 64 bytes, fewer than 20 are below the last whole multiple of 36
 * once in more than 10^30 digests.
 */
function derivedId(first: string, index: number): string {
  const bytes = createHash('sha512').update(`${first} ${index}`).digest()
  return `${idPrefixes.runtime}${textOfBytes(bytes).slice(0, 20)}`
}
