import { useMemo } from 'react'
import { LineChart } from '../parts/line-chart.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { shownText } from '../parts/shown-text.ts'
import { type Axes, axesOf, drawnOf, pointsOf } from './chart-data.ts'
import { JsonTree } from './json-tree.tsx'

/** The maximum number of rows of the table of a chart. */
const mostRows = 500

/** A chart that code has sent as data, with a table of its points. */
export function ChartResult({ value }: { readonly value: unknown }) {
  const axes = useMemo(() => axesOf(value), [value])
  if (axes === null) return <JsonTree value={value} isOpen />
  return (
    <>
      {axes.map((each, at) => (
        <AxesView key={at} axes={each} />
      ))}
    </>
  )
}

function AxesView({ axes }: { readonly axes: Axes }) {
  const drawn = useMemo(() => drawnOf(axes), [axes])
  const { xLabel, yLabel, isLogX, isLogY } = axes
  const title = shownText(axes.title ?? 'Chart')
  const categories = drawn?.categories ?? null
  const names = [xLabel === null ? '' : `x: ${xLabel}`, yLabel === null ? '' : `y: ${yLabel}`].filter(Boolean)
  const rows = axes.series.flatMap((series, line) =>
    pointsOf(series).map(([name, value]) => ({ series: series.label ?? `Series ${line + 1}`, name, value })),
  )
  const table = (
    <PlainTable
      label={`Points of ${title}`}
      rows={rows.slice(0, mostRows).map((row, at) => ({ ...row, at }))}
      idOf={({ at }) => String(at)}
      columns={[
        { title: 'Series', cell: ({ series }) => shownText(series) },
        { title: shownText(xLabel ?? 'x'), cell: ({ name }) => shownText(name) },
        { title: shownText(yLabel ?? 'y'), cell: ({ value }) => shownText(value) },
      ]}
    />
  )
  if (drawn === null) return table
  return (
    <>
      <LineChart
        title={[title, ...names.map(shownText)].join(', ')}
        xs={drawn.xs}
        lines={drawn.lines}
        isTime={drawn.isTime}
        isLogX={isLogX}
        isLogY={isLogY}
        format={(value) => String(Number(value.toPrecision(6)))}
        {...(categories === null ? {} : { formatX: (x: number) => shownText(categories[x] ?? '') })}
      />
      <details>
        <summary>The points as a table{rows.length > mostRows ? `: the first ${mostRows}` : ''}</summary>
        {table}
      </details>
    </>
  )
}
