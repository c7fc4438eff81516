import UPlot from 'uplot'
import type { ChartLine } from './chart-line.ts'
import { timeRange } from './time-range.ts'

/** The look of a chart. */
export interface ChartLook {
  /** True if the positions are times, in seconds since 1970. */
  readonly isTime?: boolean
  /** Returns a value as text, for the axis and the legend. */
  readonly format: (value: number) => string
  /** True if the values are bytes: the axis has powers of two. */
  readonly isBytes?: boolean
  /** Returns a position as text. Default: as a number, or as a time. */
  readonly formatX?: (x: number) => string
  /** The value that the axis has at least: a limit. */
  readonly top?: number
  readonly isLogX?: boolean
  readonly isLogY?: boolean
}

/** The names of the colours of lines, in order: classes and variables of `charts.css`. */
export const colors = ['series-1', 'series-2', 'series-3', 'series-4'] as const

const dashes = [[], [6, 4], [2, 3], [8, 3, 2, 3]]
const height = 180
const logarithmic = 3
/** The pixels that a time with seconds needs at least, also on a clock of 12 hours. */
const timeWidth = 96
const font = '12px system-ui, sans-serif'

interface ChartParts {
  readonly lines: readonly ChartLine[]
  readonly look: ChartLook
  readonly width: number
  readonly colorOf: (name: string) => string
  /** Called with the number of the position below the pointer; null without one. */
  readonly onPoint: (at: number | null) => void
}

/** Returns the options of a chart for uPlot. Lines differ in colour and in dashes. */
export function chartOptions({ lines, look, width, colorOf, onPoint }: ChartParts): UPlot.Options {
  const { isTime = false, isBytes = false, format, formatX, top, isLogX = false, isLogY = false } = look
  const [text, grid] = [colorOf('muted'), colorOf('line')]
  const axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } }
  const times = { values: timesOf, space: timeWidth }
  const named = formatX !== undefined ? { values: textsBy(formatX) } : isTime ? times : {}
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: isTime, ...(isLogX ? { distr: logarithmic } : {}), ...(isTime ? { range: timeRange } : {}) },
      y: isLogY ? { distr: logarithmic } : { range: (_, low, high) => rangeOf({ low, high, top }) },
    },
    axes: [
      { ...axis, ...named },
      { ...axis, size: 72, values: textsBy(format), ...(isBytes ? { incrs: powersOfTwo } : {}) },
    ],
    series: [{}, ...lines.map((line, at) => seriesOf(line, colorOf(colors[at % colors.length] ?? 'series-1'), at))],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
  }
}

const powersOfTwo = Array.from({ length: 50 }, (_, power) => 2 ** power)
const day = 86_400

function textsBy(format: (value: number) => string) {
  return (_: UPlot, splits: number[]) => splits.map(format)
}

/** Returns the times of an axis as the person writes them: days, or minutes, or seconds. */
function timesOf(_: UPlot, splits: number[], _axis: number, _space: number, stepSecs: number): string[] {
  const dates = splits.map((second) => new Date(second * 1000))
  if (stepSecs >= day) return dates.map((date) => date.toLocaleDateString())
  const parts = {
    hour: '2-digit',
    minute: '2-digit',
    ...(stepSecs < 60 ? { second: '2-digit' as const } : {}),
  } as const
  return dates.map((date) => date.toLocaleTimeString([], parts))
}

function seriesOf({ label, kind = 'line' }: ChartLine, color: string, at: number): UPlot.Series {
  const named = { label, stroke: color }
  const { bars } = UPlot.paths
  if (kind === 'bars' && bars !== undefined)
    return { ...named, fill: color, paths: bars({ size: [0.6, 60] }), points: { show: false } }
  const points = { size: 6, fill: color }
  if (kind === 'points') return { ...named, paths: () => null, points: { ...points, show: true } }
  return { ...named, width: 2, dash: dashes[at % dashes.length] ?? [], points }
}

/** Returns the range of the values: with zero, and with the limit. */
function rangeOf({ low, high, top = 0 }: { low: number | null; high: number | null; top: number | undefined }) {
  const range: UPlot.Range.MinMax = [Math.min(0, low ?? 0), Math.max(top, high ?? 0)]
  return range[0] === range[1] ? ([0, 1] satisfies UPlot.Range.MinMax) : range
}

/** Returns a colour of the theme as the canvas takes it, by the name of its variable. */
export function colorOf(place: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${name})`
  place.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
