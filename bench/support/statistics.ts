/** How long something took over many times; nothing is trimmed. */
export interface Distribution {
  readonly min_ms: number
  readonly p50_ms: number
  readonly p95_ms: number
  readonly p99_ms: number
  readonly max_ms: number
}

/** Sums samples up by nearest rank: every figure is one that was measured. Null without samples. */
export function distributionOf(samples: readonly number[]): Distribution | null {
  if (samples.length === 0) return null
  const sorted = samples.toSorted((a, b) => a - b)
  return {
    min_ms: nearestRank(sorted, 0),
    p50_ms: nearestRank(sorted, 0.5),
    p95_ms: nearestRank(sorted, 0.95),
    p99_ms: nearestRank(sorted, 0.99),
    max_ms: nearestRank(sorted, 1),
  }
}

/**
 * The smallest of the ascending values that at least `fraction` of them do not exceed. NaN without
 * values.
 */
export function nearestRank(ascending: readonly number[], fraction: number): number {
  const rank = Math.max(1, Math.ceil(fraction * ascending.length))
  return ascending[rank - 1] ?? Number.NaN
}

/** Rounds to so many significant digits, so that figures say no more than was measured. */
export function significant(value: number, digits = 4): number {
  return Number(value.toPrecision(digits))
}
