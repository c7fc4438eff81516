import type { ChartLine } from '../parts/chart-line.ts'

/** The maximum number of points of a chart, as the interpreter sends them, and the most series. */
const most = { points: 10_000, series: 40, axes: 16 } as const

/** A series of a chart as data. */
export interface Series {
  readonly type: string
  readonly label: string | null
  readonly [field: string]: unknown
}

/** One coordinate system of a chart as data. */
export interface Axes {
  readonly title: string | null
  readonly xLabel: string | null
  readonly yLabel: string | null
  readonly isLogX: boolean
  readonly isLogY: boolean
  readonly series: readonly Series[]
}

/**
 * Returns the coordinate systems of a chart; null if it is no chart. Code sends it, so it is
 * checked.
 */
export function axesOf(value: unknown): readonly Axes[] | null {
  if (!isObject(value) || !Array.isArray(value.axes) || value.axes.length > most.axes) return null
  const axes = value.axes.map((each: unknown): Axes | null => {
    if (!isObject(each) || !Array.isArray(each.series) || each.series.length > most.series) return null
    const series = each.series.filter((one: unknown): one is Series => isObject(one) && typeof one.type === 'string')
    return {
      title: textOf(each.title) ?? textOf(value.title),
      xLabel: textOf(each.x_label),
      yLabel: textOf(each.y_label),
      isLogX: each.x_scale === 'log',
      isLogY: each.y_scale === 'log',
      series: series.map((one) => ({ ...one, label: textOf(one.label) })),
    }
  })
  return axes.every((each) => each !== null) ? axes : null
}

/** The lines of a chart over positions that they share. */
export interface Drawn {
  readonly xs: readonly number[]
  readonly lines: readonly ChartLine[]
  readonly isTime: boolean
  /** The names of the positions 0, 1, 2; null if they are numbers or times. */
  readonly categories: readonly string[] | null
}

interface Point {
  readonly x: number
  readonly y: number | null
  readonly line: number
}

/** Returns series as lines; null if they cannot be drawn so, and are a table. */
export function drawnOf({ series, isLogX, isLogY }: Axes): Drawn | null {
  const xs = series.flatMap(({ x }) => (Array.isArray(x) ? x : []))
  const scale = scaleOf(xs)
  if (scale === null || xs.length === 0 || xs.length > most.points || !series.every(isDrawable)) return null
  const points = series.flatMap(({ x, y }, line): readonly Point[] => {
    const [at, values] = [x as readonly unknown[], y as readonly unknown[]]
    return at.flatMap((each, index) => {
      const placed = scale.place(each)
      return placed === null ? [] : [{ x: placed, y: numberOf(values[index]), line }]
    })
  })
  const isNegative = ({ x, y }: Point) => (isLogX && x <= 0) || (isLogY && y !== null && y <= 0)
  if (
    points.some(isNegative) ||
    !series.every((one, line) =>
      isOrdered(
        one,
        points.filter((point) => point.line === line),
      ),
    )
  )
    return null
  const rows = rowsOf(points, series.length)
  if (!rows.every(({ x, ys }) => [x, ...ys].every(isDrawn)) || !isWide(rows)) return null
  return {
    xs: rows.map(({ x }) => x),
    lines: series.map(({ type, label }, line) => ({
      label: label ?? `Series ${line + 1}`,
      ys: rows.map(({ ys }) => ys[line]),
      kind: type === 'bar' ? 'bars' : type === 'scatter' ? 'points' : 'line',
    })),
    isTime: scale.isTime,
    categories: scale.categories,
  }
}

/** The points of a series as texts, for a table. */
export function pointsOf(series: Series): readonly (readonly [name: string, value: string])[] {
  const { x, y, labels, fractions } = series
  const pair = (names: unknown, values: unknown) =>
    Array.isArray(names) && Array.isArray(values)
      ? names.slice(0, most.points).map((name, at) => [plainOf(name), plainOf(values[at])] as const)
      : []
  if (series.type === 'pie') return pair(labels, fractions)
  if (series.type === 'box')
    return ['low', 'q1', 'median', 'q3', 'high'].map((name) => [name, plainOf(series[name])] as const)
  return pair(x, y)
}

/** Returns a value as text. An object may have no text: `String` calls a method that code named. */
function plainOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? 'no single value' : String(value)
}

interface Place {
  readonly isTime: boolean
  readonly categories: readonly string[] | null
  place(x: unknown): number | null
}

/** Returns how positions become numbers: as they are, as seconds, or in the order of categories. */
function scaleOf(xs: readonly unknown[]): Place | null {
  const known = xs.filter((x) => x !== null)
  if (known.every((x) => typeof x === 'number')) return { isTime: false, categories: null, place: numberOf }
  if (!known.every((x) => typeof x === 'string')) return null
  if (known.every((x) => /^\d{4}-\d\d-\d\d/.test(x) && Number.isFinite(Date.parse(x))))
    return { isTime: true, categories: null, place: (x) => (typeof x === 'string' ? Date.parse(x) / 1000 : null) }
  const places = new Map([...new Set(known)].map((name, at) => [name, at]))
  return { isTime: false, categories: [...places.keys()], place: (x) => places.get(String(x)) ?? null }
}

function isDrawable({ type, x, y, orientation }: Series): boolean {
  if (!Array.isArray(x) || !Array.isArray(y) || x.length !== y.length) return false
  return type === 'line' || type === 'scatter' || (type === 'bar' && orientation !== 'horizontal')
}

/** Returns true if positions ascend. A line that goes back, such as a circle, is no line here. */
function isOrdered({ type }: Series, points: readonly Point[]): boolean {
  return type !== 'line' || points.every(({ x }, at) => at === 0 || x > (points[at - 1]?.x ?? Number.NaN))
}

/** The largest and the smallest amount that an axis has. Computations with it stay finite. */
const amounts = { largest: 1e100, smallest: 1e-100 } as const

/** The smallest share of a position that an axis divides. A number has some 16 digits. */
const leastShare = 1e-11

function isDrawn(value: number | null | undefined): boolean {
  if (value == null || value === 0) return true
  const amount = Math.abs(value)
  return amount >= amounts.smallest && amount <= amounts.largest
}

/**
 * Returns true if an axis can step from the first position to the last. Between close positions
 * that are large, a step changes nothing: the axis would have marks without an end.
 */
function isWide(rows: readonly Row[]): boolean {
  const [first = 0, last = 0] = [rows[0]?.x, rows.at(-1)?.x]
  return first === last || last - first >= leastShare * Math.max(Math.abs(first), Math.abs(last))
}

interface Row {
  readonly x: number
  readonly ys: (number | null | undefined)[]
}

/** Returns rows in the order of positions. Two points of a line at one position have two rows. */
function rowsOf(points: readonly Point[], lines: number): readonly Row[] {
  const rows: Row[] = []
  for (const { x, y, line } of points.toSorted((one, other) => one.x - other.x)) {
    const last = rows.at(-1)
    if (last !== undefined && last.x === x && last.ys[line] === undefined) last.ys[line] = y
    else
      rows.push({
        x,
        ys: Object.assign(
          Array.from({ length: lines }, () => undefined),
          { [line]: y },
        ),
      })
  }
  return rows
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, 200) : null
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
