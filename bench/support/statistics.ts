/** The durations of an operation. No samples are removed. */
export interface Distribution {
  readonly min_ms: number
  readonly p50_ms: number
  readonly p95_ms: number
  readonly p99_ms: number
  readonly max_ms: number
}

/**
 * Summarizes samples by nearest rank, so every figure is a measured one. Returns null without
 * samples.
 */
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
 * Returns the smallest of the ascending values that at least `fraction` of them do not exceed; NaN
 * without values.
 */
export function nearestRank(ascending: readonly number[], fraction: number): number {
  const rank = Math.max(1, Math.ceil(fraction * ascending.length))
  return ascending[rank - 1] ?? Number.NaN
}

/** Rounds to `digits` significant digits, because further digits have no meaning. */
export function significant(value: number, digits = 4): number {
  return Number(value.toPrecision(digits))
}
