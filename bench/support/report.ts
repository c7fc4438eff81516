import type { Measured } from './interleave.ts'
import type { MachineFacts } from './machine-facts.ts'
import { type Distribution, distributionOf, significant } from './statistics.ts'

/** The results of one series. `duration` is null if every operation failed. */
export interface SeriesReport {
  readonly name: string
  readonly operations: number
  readonly success_rate: number
  /** The first distinct errors. */
  readonly failures: readonly string[]
  readonly duration: Distribution | null
  /** The time spent in the rounds of the subject. */
  readonly wall_ms: number
  readonly per_second: number
  /** The user and system time of all processes that worked for the series. */
  readonly cpu_ms_per_operation: number | null
}

/** The smallest possible figure on this machine, measured in the same run. */
export interface Floor {
  readonly name: string
  readonly value: number | null
  /** The reason why this part is unavoidable. */
  readonly why: string
}

/** A figure, its floor, its baseline and its bound. */
export interface Verdict {
  readonly what: string
  readonly value: number | null
  readonly unit: 'ms' | '/s' | 'MiB'
  readonly floor: Floor | null
  /** `value` divided by the floor; null without one. A rate stays below 1. */
  readonly floor_ratio: number | null
  readonly baseline: { readonly name: string; readonly value: number | null } | null
  /** `value` divided by the baseline; null without one. */
  readonly ratio: number | null
  readonly target: { readonly of: 'ratio' | 'value'; readonly at: 'most' | 'least'; readonly bound: number } | null
  readonly met: boolean | null
}

/** The results of a row. */
export interface Findings {
  readonly series: readonly SeriesReport[]
  readonly verdicts: readonly Verdict[]
  /** The missing baselines, with the reasons. */
  readonly absent: readonly string[]
  readonly notes: readonly string[]
}

/** The JSON line of a row. */
export interface RowReport extends Findings {
  readonly row: string
  readonly title: string
  readonly at: string
  readonly elapsed_secs: number
  readonly load_before: readonly number[]
  readonly load_after: readonly number[]
  readonly machine: MachineFacts
}

/** The JSON line of a row that was not measured. */
export interface RowFailure {
  readonly row: string
  readonly title: string
  /** The reason, on one line. */
  readonly failed: string
}

const failuresShown = 3
const noFloor = { floor: null, floor_ratio: null } as const

/** Summarizes each series of a batch. Failed operations affect only the success rate. */
export function seriesReports(batch: readonly Measured[]): readonly SeriesReport[] {
  return batch.flatMap(({ subject, operations, wallMs, cpuMs }) =>
    subject.series.map((name) => {
      const all = operations.filter((operation) => operation.series === name)
      const good = all.filter(({ error }) => error === null)
      return {
        name,
        operations: all.length,
        success_rate: all.length === 0 ? 0 : significant(good.length / all.length),
        failures: [...new Set(all.flatMap(({ error }) => error ?? []))].slice(0, failuresShown),
        duration: rounded(distributionOf(good.map(({ ms }) => ms))),
        wall_ms: significant(wallMs),
        per_second: wallMs === 0 ? 0 : significant((good.length / wallMs) * 1000),
        cpu_ms_per_operation: cpuMs === null || all.length === 0 ? null : significant(cpuMs / all.length),
      }
    }),
  )
}

/** Compares the p50 of one series with that of another. */
export function compare(
  series: readonly SeriesReport[],
  asked: { readonly what: string; readonly subject: string; readonly baseline: string; readonly atMost: number | null },
): Verdict {
  const value = medianOf(series, asked.subject)
  const base = medianOf(series, asked.baseline)
  const ratio = value === null || base === null ? null : significant(value / base, 3)
  return {
    what: asked.what,
    value,
    unit: 'ms',
    ...noFloor,
    baseline: { name: asked.baseline, value: base },
    ratio,
    target: asked.atMost === null ? null : { of: 'ratio', at: 'most', bound: asked.atMost },
    met: asked.atMost === null ? null : ratio !== null && ratio <= asked.atMost,
  }
}

/** Compares the CPU time of an operation of one series with that of another. */
export function compareCpu(
  series: readonly SeriesReport[],
  asked: { readonly what: string; readonly subject: string; readonly baseline: string; readonly atMost: number | null },
): Verdict {
  return compareFigures({
    what: asked.what,
    unit: 'ms',
    value: cpuOf(series, asked.subject),
    baseline: { name: asked.baseline, value: cpuOf(series, asked.baseline) },
    target: asked.atMost === null ? null : { of: 'ratio', at: 'most', bound: asked.atMost },
  })
}

/** Compares the p50 of a series with a number of milliseconds. */
export function medianWithin(
  series: readonly SeriesReport[],
  asked: { readonly what: string; readonly subject: string; readonly ms: number },
): Verdict {
  const value = medianOf(series, asked.subject)
  const target = { of: 'value', at: 'most', bound: asked.ms } as const
  return {
    what: asked.what,
    value,
    unit: 'ms',
    ...noFloor,
    baseline: null,
    ratio: null,
    target,
    met: value !== null && value <= asked.ms,
  }
}

/** Compares the rate of a series with a number of operations per second. */
export function rateAtLeast(
  series: readonly SeriesReport[],
  asked: { readonly what: string; readonly subject: string; readonly perSecond: number },
): Verdict {
  const value = series.find(({ name }) => name === asked.subject)?.per_second ?? null
  const target = { of: 'value', at: 'least', bound: asked.perSecond } as const
  return {
    what: asked.what,
    value,
    unit: '/s',
    ...noFloor,
    baseline: null,
    ratio: null,
    target,
    met: value !== null && value >= asked.perSecond,
  }
}

/** Compares the rate of one series with that of another. */
export function compareRates(
  series: readonly SeriesReport[],
  asked: { readonly what: string; readonly subject: string; readonly baseline: string; readonly atLeast: number },
): Verdict {
  const rateOf = (name: string) => series.find((one) => one.name === name)?.per_second ?? null
  const [value, base] = [rateOf(asked.subject), rateOf(asked.baseline)]
  const ratio = value === null || base === null ? null : significant(value / base, 3)
  return {
    what: asked.what,
    value,
    unit: '/s',
    ...noFloor,
    baseline: { name: asked.baseline, value: base },
    ratio,
    target: { of: 'ratio', at: 'least', bound: asked.atLeast },
    met: ratio !== null && ratio >= asked.atLeast,
  }
}

/**
 * Compares a figure that is not the duration of a series with another figure, or with its own
 * bound.
 */
export function compareFigures(asked: {
  readonly what: string
  readonly unit: Verdict['unit']
  readonly value: number | null
  readonly baseline: { readonly name: string; readonly value: number | null } | null
  readonly target: Verdict['target']
}): Verdict {
  const { what, unit, target, baseline } = asked
  const value = asked.value === null ? null : significant(asked.value)
  const base = baseline?.value == null ? null : significant(baseline.value)
  const ratio = value === null || base === null || base === 0 ? null : significant(value / base, 3)
  const held = target?.of === 'ratio' ? ratio : value
  return {
    what,
    value,
    unit,
    ...noFloor,
    baseline: baseline === null ? null : { name: baseline.name, value: base },
    ratio,
    target,
    met: target === null ? null : held !== null && (target.at === 'most' ? held <= target.bound : held >= target.bound),
  }
}

/** Returns the p50 of a series as a floor. */
export function floorOf(series: readonly SeriesReport[], name: string, why: string): Floor {
  return { name, value: medianOf(series, name), why }
}

/** Returns the CPU time of an operation of a series as a floor. */
export function cpuFloorOf(series: readonly SeriesReport[], name: string, why: string): Floor {
  return { name, value: cpuOf(series, name), why }
}

/** Adds a floor to a verdict. Without a floor the verdict is unchanged. */
export function onFloor(verdict: Verdict, floor: Floor | null): Verdict {
  if (floor === null) return verdict
  const value = floor.value === null ? null : significant(floor.value)
  const isMeasured = verdict.value !== null && value !== null && value > 0
  return {
    ...verdict,
    floor: { ...floor, value },
    floor_ratio: isMeasured ? significant((verdict.value ?? Number.NaN) / value, 3) : null,
  }
}

function medianOf(series: readonly SeriesReport[], name: string): number | null {
  return series.find((one) => one.name === name)?.duration?.p50_ms ?? null
}

function cpuOf(series: readonly SeriesReport[], name: string): number | null {
  return series.find((one) => one.name === name)?.cpu_ms_per_operation ?? null
}

function rounded(distribution: Distribution | null): Distribution | null {
  if (distribution === null) return null
  const { min_ms, p50_ms, p95_ms, p99_ms, max_ms } = distribution
  return {
    min_ms: significant(min_ms),
    p50_ms: significant(p50_ms),
    p95_ms: significant(p95_ms),
    p99_ms: significant(p99_ms),
    max_ms: significant(max_ms),
  }
}
