import { HoltApiError, type RuntimeMetrics } from '@holt/sdk'
import { useMemo, useState } from 'react'
import { bytesText } from '../parts/amount-text.ts'
import { Answer } from '../parts/answer.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { Facts } from '../parts/facts.tsx'
import { Choice } from '../parts/fields.tsx'
import { LineChart } from '../parts/line-chart.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { useRuntimeId } from '../runtime/runtime-route.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'
import { seriesOf } from './metric-series.ts'

/** The windows to choose from: their lengths and steps in seconds. */
const windows = [
  { title: '5 minutes', window_secs: 300, step_secs: 10 },
  { title: '15 minutes', window_secs: 900, step_secs: 10 },
  { title: '1 hour', window_secs: 3600, step_secs: 30 },
] as const

/** The interval at which the service measures, in milliseconds. */
const measuredMs = 10_000

/** The tab of the use of a runtime over time: processor, memory, disk and network. */
export function MetricsTab() {
  const id = useRuntimeId()
  const [chosen, choose] = useState('0')
  const { window_secs, step_secs } = windows[Number(chosen)] ?? windows[0]
  const metrics = useHoltQuery({
    key: ['runtime', id, 'metrics', window_secs],
    read: async (holt, signal) => (await holt.runtimes.get(id, { signal })).metrics({ window_secs, step_secs, signal }),
    refetchInterval: measuredMs,
  })
  if (metrics.error instanceof HoltApiError && ended.includes(metrics.error.code))
    return (
      <EmptyState title="A runtime that has ended has no metrics">
        <p>The service keeps them while the runtime is there. Its events and its network log are kept longer.</p>
      </EmptyState>
    )
  return (
    <>
      <div className="toolbar">
        <Choice label="Window" value={chosen} set={choose}>
          {windows.map(({ title }, at) => (
            <option key={title} value={at}>
              {title}
            </option>
          ))}
        </Choice>
        <p className="muted">
          The host measures every 10 seconds, from outside, and the service keeps an hour. A line has a gap while the
          runtime did nothing, was paused, or the service was away.
        </p>
      </div>
      <Answer query={metrics} what="the metrics">
        {(data) => <Metrics data={data} />}
      </Answer>
    </>
  )
}

const ended: readonly string[] = ['runtime_terminated', 'runtime_not_running']

function Metrics({ data }: { readonly data: RuntimeMetrics }) {
  const { limits, now } = data
  const series = useMemo(() => seriesOf(data), [data])
  return (
    <>
      <Facts
        label="Now"
        entries={[
          ['Processor', measured(now?.cpu.rate == null ? null : `${vcpus(now.cpu.rate)} of ${limits.cpu} vCPU`)],
          ['Memory', measured(now && `${bytesText(now.memory.used_bytes)} of ${bytesText(limits.memory_bytes)}`)],
          ['Disk', measured(now && `${bytesText(now.disk.used_bytes)} of ${bytesText(limits.disk_bytes)}`)],
          ['Processes', measured(now?.processes == null ? null : String(now.processes))],
        ]}
      />
      {series.at.length === 0 ? (
        <EmptyState title="No samples in this window">
          <p>
            A runtime that does nothing stands still, and is not measured. The next sample comes within 10 seconds of
            work.
          </p>
        </EmptyState>
      ) : (
        <>
          <Charts series={series} limits={limits} />
          <details>
            <summary>The same as a table</summary>
            <Samples series={series} />
          </details>
        </>
      )}
    </>
  )
}

type Series = ReturnType<typeof seriesOf>

function Charts({ series, limits }: { readonly series: Series; readonly limits: RuntimeMetrics['limits'] }) {
  const { at: xs, cpu, memory, disk, sent, received } = series
  const lines = useMemo(
    () => ({
      cpu: [{ label: 'Busy vCPUs', ys: cpu }],
      memory: [{ label: 'In use', ys: memory }],
      disk: [{ label: 'Written', ys: disk }],
      network: [
        { label: 'Sent', ys: sent },
        { label: 'Received', ys: received },
      ],
    }),
    [cpu, memory, disk, sent, received],
  )
  const bytes = { xs, isTime: true, isBytes: true, format: bytesText }
  return (
    <div className="charts">
      <LineChart title="Processor" xs={xs} lines={lines.cpu} isTime format={vcpus} top={limits.cpu} />
      <LineChart title="Memory" lines={lines.memory} {...bytes} top={limits.memory_bytes} />
      <LineChart title="Disk" lines={lines.disk} {...bytes} top={limits.disk_bytes} />
      <LineChart title="Network" lines={lines.network} {...bytes} format={perSecond} />
    </div>
  )
}

function Samples({ series: { at, cpu, memory, disk, sent, received } }: { readonly series: Series }) {
  return (
    <PlainTable
      label="Samples"
      rows={at.map((_, index) => index).toReversed()}
      idOf={(index) => String(at[index])}
      columns={[
        { title: 'Time', cell: (index) => new Date((at[index] ?? 0) * 1000).toLocaleTimeString() },
        { title: 'Busy vCPUs', cell: (index) => textOf(cpu[index], vcpus) },
        { title: 'Memory', cell: (index) => textOf(memory[index], bytesText) },
        { title: 'Disk', cell: (index) => textOf(disk[index], bytesText) },
        { title: 'Sent', cell: (index) => textOf(sent[index], perSecond) },
        { title: 'Received', cell: (index) => textOf(received[index], perSecond) },
      ]}
    />
  )
}

function measured(text: string | null) {
  return text ?? <span className="muted">not measured now</span>
}

function textOf(value: number | null | undefined, format: (value: number) => string): string {
  return value == null ? '–' : format(value)
}

function vcpus(value: number): string {
  return value.toFixed(2)
}

function perSecond(value: number): string {
  return `${bytesText(value)}/s`
}
