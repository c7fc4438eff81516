import { useEffect, useRef, useState } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import '../styles/charts.css'
import type { ChartLine } from './chart-line.ts'
import { type ChartLook, chartOptions, colorOf, colors } from './chart-options.ts'
import { useIsDark } from './color-scheme.ts'

interface LineChartProps extends ChartLook {
  readonly title: string
  /** The positions in ascending order. */
  readonly xs: readonly number[]
  readonly lines: readonly ChartLine[]
}

/**
 * Shows lines, points or bars, with the values below the pointer beside their names. A picture says
 * nothing to readers of screens: give the same values as a table.
 */
export function LineChart({ title, xs, lines, ...look }: LineChartProps) {
  const isDark = useIsDark()
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<UPlot>(null)
  const [width, setWidth] = useState(0)
  const [pointed, setPointed] = useState<number | null>(null)
  const data = [[...xs], ...lines.map(({ ys }) => [...ys])] as UPlot.AlignedData
  const shape = JSON.stringify([lines.map(({ label, kind }) => [label, kind]), look, isDark, width])
  const latest = useRef({ data, lines, look })
  latest.current = { data, lines, look }

  useEffect(() => {
    const box = place.current
    if (box === null) return
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    observer.observe(box)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    const box = place.current
    if (box === null || width === 0) return
    const { lines, look } = latest.current
    const options = chartOptions({ lines, look, width, colorOf: (name) => colorOf(box, name), onPoint: setPointed })
    chart.current = new UPlot(options, latest.current.data, box)
    return () => {
      chart.current?.destroy()
      chart.current = null
    }
  }, [shape])
  useEffect(() => chart.current?.setData(latest.current.data), [xs, lines])

  const at = pointed ?? xs.length - 1
  return (
    <figure className="chart">
      <figcaption>
        <h2>{title}</h2>
        <ul className="legend">
          {lines.map(({ label, ys }, number) => (
            <li key={`${number} ${label}`} className={colors[number % colors.length]}>
              {label} <span className="muted">{valueText(ys[at], look.format)}</span>
            </li>
          ))}
        </ul>
      </figcaption>
      <div
        ref={place}
        className="plot"
        role="img"
        aria-label={`${title}: ${lines.map(({ label }) => label).join(', ')}`}
      />
    </figure>
  )
}

function valueText(value: number | null | undefined, format: (value: number) => string): string {
  return value == null ? '' : format(value)
}
