import { createHash } from 'node:crypto'
import { idPrefixes } from '@holt/protocol'

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** The ids of a fork's children. They follow from the first, so that a fork that is repeated finds those of the earlier try. */
export function childIds(first: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => (index === 0 ? first : derivedId(first, index)))
}

/** 20 characters without bias: of 64 bytes, fewer than 20 are below the last whole multiple of 36 once in more than 10^30 digests. */
function derivedId(first: string, index: number): string {
  const bytes = createHash('sha512').update(`${first} ${index}`).digest()
  const text = [...bytes].filter((byte) => byte < 252).map((byte) => alphabet[byte % 36])
  return `${idPrefixes.runtime}${text.slice(0, 20).join('')}`
}
