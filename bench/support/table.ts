import type { RowReport, SeriesReport, Verdict } from './report.ts'

/**
 * Returns a table for a terminal: the first column is left-aligned, and the others are
 * right-aligned.
 */
export function plainTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)))
  const line = (row: readonly string[]) =>
    widths
      .map((width, column) => (column === 0 ? (row[column] ?? '').padEnd(width) : (row[column] ?? '').padStart(width)))
      .join('  ')
      .trimEnd()
  return [line(head), ...rows.map(line)].join('\n')
}

/** Returns a table for a Markdown page. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(markdownRow).join('\n')
}

/** Returns a line of a table. */
export function markdownRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

/** The header of `seriesCells`. */
export const seriesHead = [
  'series',
  'n',
  'ok',
  'min',
  'p50',
  'p95',
  'p99',
  'max',
  'wall',
  'per s',
  'CPU ms/op',
] as const

/** Returns one series as cells, with times in milliseconds and wall time in seconds. */
export function seriesCells(series: SeriesReport): readonly string[] {
  const { duration } = series
  return [
    series.name,
    String(series.operations),
    `${figure(series.success_rate * 100)}%`,
    ...(['min_ms', 'p50_ms', 'p95_ms', 'p99_ms', 'max_ms'] as const).map((key) =>
      duration === null ? '-' : figure(duration[key]),
    ),
    `${figure(series.wall_ms / 1000)}s`,
    figure(series.per_second),
    series.cpu_ms_per_operation === null ? '-' : figure(series.cpu_ms_per_operation),
  ]
}

/** The header of `verdictCells`. */
export const verdictHead = ['what', 'Holt', 'floor', 'x floor', 'baseline', 'x baseline', 'target', 'result'] as const

/** Returns one verdict as cells. */
export function verdictCells(verdict: Verdict): readonly string[] {
  const { target, baseline, floor } = verdict
  const sign = target?.at === 'least' ? '>=' : '<='
  return [
    verdict.what,
    quantity(verdict.value, verdict.unit),
    floor === null ? '-' : quantity(floor.value, verdict.unit),
    multiple(verdict.floor_ratio),
    baseline === null ? '-' : `${baseline.name} ${quantity(baseline.value, verdict.unit)}`,
    multiple(verdict.ratio),
    target === null
      ? '-'
      : `${sign} ${target.of === 'ratio' ? `${target.bound}x` : quantity(target.bound, verdict.unit)}`,
    verdict.met === null ? '-' : verdict.met ? 'met' : 'missed',
  ]
}

/** The header of `missedCells`. */
export const missedHead = ['what', 'Holt', 'target', 'floor', 'target in floors', 'what the floor tells'] as const

/**
 * Returns a missed verdict as cells, with the target as a figure of this machine. Returns null if
 * the target was met or there is none.
 */
export function missedCells(verdict: Verdict): readonly string[] | null {
  const { target, baseline, floor, unit } = verdict
  if (target === null || verdict.met !== false) return null
  const base = target.of === 'ratio' ? (baseline?.value ?? null) : 1
  const allowed = base === null ? null : target.bound * base
  const limit = floor?.value ?? null
  const known = allowed !== null && allowed > 0 && limit !== null && limit > 0
  // A rate has to reach its target, and its floor is the highest rate.
  const inFloors = !known ? null : target.at === 'most' ? allowed / limit : limit / allowed
  return [
    verdict.what,
    quantity(verdict.value, unit),
    allowed === null ? 'unknown' : quantity(allowed, unit),
    floor === null ? '-' : quantity(limit, unit),
    inFloors === null ? '-' : `${figure(inFloors)}x`,
    inFloors === null ? '-' : inFloors < 1 ? 'out of reach: the floor alone exceeds it' : 'does not exclude it',
  ]
}

/** Returns a row's report for a terminal. */
export function rowText(report: RowReport): string {
  const { machine } = report
  return [
    `${report.row}  ${report.title}`,
    plainTable(seriesHead, report.series.map(seriesCells)),
    '',
    plainTable(verdictHead, report.verdicts.map(verdictCells)),
    ...floorLines(report.verdicts).map((line) => `floor: ${line}`),
    ...report.absent.map((line) => `absent: ${line}`),
    ...report.notes.map((line) => `note: ${line}`),
    ...report.series.flatMap(({ name, failures }) => failures.map((failure) => `failure of ${name}: ${failure}`)),
    `load ${report.load_before.join(' ')} -> ${report.load_after.join(' ')}; ${machine.cpus} CPUs, ${machine.kernel}, ${machine.file_system}, ${report.elapsed_secs} s`,
    '',
  ].join('\n')
}

/** Returns one line for each floor of a row, with its name and reason. */
export function floorLines(verdicts: readonly Verdict[]): readonly string[] {
  const lines = verdicts.flatMap(({ floor }) => (floor === null ? [] : `${floor.name}: ${floor.why}`))
  return [...new Set(lines)]
}

/** Formats a number with three digits, or as a whole number from 1000. */
export function figure(value: number): string {
  return value >= 1000 ? String(Math.round(value)) : String(Number(value.toPrecision(3)))
}

function quantity(value: number | null, unit: Verdict['unit']): string {
  if (value === null) return 'failed'
  return unit === '/s' ? `${figure(value)}/s` : `${figure(value)} ${unit}`
}

function multiple(ratio: number | null): string {
  return ratio === null ? '-' : `${ratio}x`
}
