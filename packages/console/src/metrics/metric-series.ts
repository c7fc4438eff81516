import type { RuntimeMetrics, RuntimeSample } from '@holt/sdk'

/** The use of a runtime over time, one list for each measure. Null: there is no value. */
export interface MetricSeries {
  /** The moments, in seconds since 1970. */
  readonly at: readonly number[]
  /** Busy vCPUs. */
  readonly cpu: readonly (number | null)[]
  /** Bytes in use. */
  readonly memory: readonly (number | null)[]
  readonly disk: readonly (number | null)[]
  /** Bytes per second. */
  readonly sent: readonly (number | null)[]
  readonly received: readonly (number | null)[]
}

/** The part of a step by which a sample may be late before it counts as missing. */
const lateness = 1.5

/** Returns the series of the samples. A time without samples is a gap in each line. */
export function seriesOf({ samples, step_secs }: Pick<RuntimeMetrics, 'samples' | 'step_secs'>): MetricSeries {
  const points = samples.flatMap((sample, index) => {
    const before = samples[index - 1]
    const at = secondOf(sample)
    if (before === undefined) return [pointOf(sample, null)]
    const isGap = at - secondOf(before) > step_secs * lateness
    const gap = { at: secondOf(before) + step_secs, cpu: null, memory: null, disk: null, sent: null, received: null }
    return isGap ? [gap, pointOf(sample, null)] : [pointOf(sample, before)]
  })
  const column = <Name extends keyof Point>(name: Name) => points.map((point) => point[name])
  return {
    at: column('at'),
    cpu: column('cpu'),
    memory: column('memory'),
    disk: column('disk'),
    sent: column('sent'),
    received: column('received'),
  }
}

type Point = ReturnType<typeof pointOf>

function pointOf(sample: RuntimeSample, before: RuntimeSample | null) {
  const { cpu, memory, disk, network } = sample
  return {
    at: secondOf(sample),
    cpu: cpu.rate,
    memory: memory.used_bytes as number | null,
    disk: disk.used_bytes as number | null,
    sent: rateOf(sample, before, network.sent_bytes - (before?.network.sent_bytes ?? 0)),
    received: rateOf(sample, before, network.received_bytes - (before?.network.received_bytes ?? 0)),
  }
}

/** Returns bytes per second; null without an earlier sample, and where the counter began anew. */
function rateOf(sample: RuntimeSample, before: RuntimeSample | null, bytes: number): number | null {
  const secs = before === null ? 0 : secondOf(sample) - secondOf(before)
  return secs <= 0 || bytes < 0 ? null : bytes / secs
}

function secondOf({ at }: RuntimeSample): number {
  return Date.parse(at) / 1000
}
