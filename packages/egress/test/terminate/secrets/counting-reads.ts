import type { Redaction } from '../../../src/terminate/secrets/masker.ts'

/**
 * Redactions, and how often one of their values was read: whoever makes a masker reads each, and
 * hashes it.
 */
export function countingReads(redactions: readonly Redaction[]): {
  readonly counted: readonly Redaction[]
  readonly reads: () => number
} {
  let count = 0
  const counted = redactions.map(({ value, mask, room }) => ({
    mask,
    room,
    get value() {
      count += 1
      return value
    },
  }))
  return { counted, reads: () => count }
}
