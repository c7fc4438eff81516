import { setTimeout as sleep } from 'node:timers/promises'
import type { Runtime } from '@holt/sdk'
import { floorSubject, reasons } from '../support/floors/subjects.ts'
import type { MemoryUse } from '../support/memory-account.ts'
import type { RawRunner } from '../support/raw-runner.ts'
import {
  compare,
  compareFigures,
  type Floor,
  floorOf,
  onFloor,
  type SeriesReport,
  seriesReports,
  type Verdict,
} from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Subject, timed } from '../support/subject.ts'
import { type Row, withPoolOf } from './row.ts'

const loads = [100, 300] as const
/** The sandboxes of the baseline. The use of each does not depend on their number. */
const rawLoad = 100
/** The sandboxes of the floor. */
const bareLoad = 20
const makers = 4
const createsAtLoad = 30
const pooled = 2
/** The time after which new or used runtimes are idle and frozen, in milliseconds. */
const restMs = 20_000
const watchedMs = 30_000
const mib = 2 ** 20

/** B11: the cost of idle runtimes, and their effect on others. */
export const b11: Row = {
  id: 'B11',
  title: '100 and 300 idle runtimes, class gvisor: memory, CPU time, and creates from a pool beside them',
  environment: withPoolOf('gvisor', pooled),
  measure: async (stage, options) => {
    await using raw = await stage.openRawRunner('gvisor')
    const rounds = options.rounds ?? createsAtLoad
    const series: SeriesReport[] = [...(await creates(stage, { load: 0, rounds }))]
    const verdicts: Verdict[] = []
    const idle = await idleOfRunsc(stage, raw, rawLoad)
    await using bare = await stage.openBareRunner()
    const { bytesEach } = await idleOfRunsc(stage, bare, bareLoad)
    const floor = { name: `bare idle sandbox, ${bareLoad}`, value: inMiB(bytesEach), why: bareReason }
    for (const load of loads) {
      const holt = await idleOfHolt(stage, { load, rounds })
      series.push(...holt.series)
      verdicts.push(...verdictsOf(load, { holt, raw: idle, floor }))
    }
    for (const load of loads)
      verdicts.push(
        onFloor(
          compare(series, {
            what: `create beside ${load} idle`,
            subject: createSeries(load),
            baseline: createSeries(0),
            atMost: 1.1,
          }),
          floorOf(series, floorSeries(load), reasons.durable),
        ),
      )
    return {
      series,
      verdicts,
      absent: [],
      notes: [
        `Memory is what the control groups hold, anonymous or shared, without the page cache; with runtimes that wait in the pool counted as runtimes. It is read ${restMs / 1000} s after the last create, CPU time over the ${watchedMs / 1000} s after that.`,
        'The daemon stands beside its runtimes, in the same table; `runsc` has none.',
        `The sleeping runtimes of \`runsc\` have no guest and no connection. There are ${rawLoad} of them, whatever they are compared with, because the memory of each does not depend on their number.`,
      ],
    }
  },
}

/** The resources that idle runtimes use. */
interface Idle {
  readonly bytesEach: number | null
  readonly cpuMs: number | null
}

interface IdleOfHolt extends Idle {
  readonly daemonBytesEach: number
  readonly daemonCpuMs: number | null
  readonly series: readonly SeriesReport[]
}

async function idleOfHolt(
  stage: Stage,
  { load, rounds }: { readonly load: number; readonly rounds: number },
): Promise<IdleOfHolt> {
  const daemonBefore = stage.standing().daemonBytes
  const made: Runtime[] = []
  try {
    stage.say(`idle runtimes: making ${load}`)
    await fromMakers(load, async () => {
      made.push(await stage.holt.runtimes.create({}, { signal: stage.signal }))
    })
    await stage.untilPooled('gvisor', pooled)
    await sleep(restMs, undefined, { signal: stage.signal })
    const before = stage.standing()
    await sleep(watchedMs, undefined, { signal: stage.signal })
    const after = stage.standing()
    return {
      bytesEach: bytesEach(before.runtimes),
      cpuMs: difference(after.runtimesCpuMs, before.runtimesCpuMs),
      daemonBytesEach: (before.daemonBytes - daemonBefore) / load,
      daemonCpuMs: difference(after.daemonCpuMs, before.daemonCpuMs),
      series: await creates(stage, { load, rounds }),
    }
  } finally {
    await fromMakers(made.length, async (index) => made[index]?.delete())
  }
}

async function idleOfRunsc(stage: Stage, raw: RawRunner, count: number): Promise<Idle> {
  // The ids have the same length, because runsc accepts the beginning of an id as the id.
  const ids = Array.from({ length: count }, (_, index) => `idle-${String(index).padStart(4, '0')}`)
  // With cgroup version 2 the group also contains the bench itself.
  const bytesBefore = stage.rawMemory()?.bytes ?? 0
  try {
    stage.say(`idle runtimes: making ${count} of runsc`)
    await fromMakers(count, async (index) => {
      const id = ids[index] ?? ''
      await raw.writeBundle(id, ['/bin/sleep', '7200'])
      await raw.createAndStart(id)
    })
    await sleep(restMs, undefined, { signal: stage.signal })
    const [memory, before] = [stage.rawMemory(), stage.rawCpuMs()]
    await sleep(watchedMs, undefined, { signal: stage.signal })
    const each = memory === null ? null : (memory.bytes - bytesBefore) / count
    return { bytesEach: each, cpuMs: difference(stage.rawCpuMs(), before) }
  } finally {
    await fromMakers(count, (index) => raw.remove(ids[index] ?? ''))
  }
}

const bareReason =
  'a sandbox without mounts, gofer or disk in which `sleep` runs; gVisor keeps a kernel in each. CPU time has no floor: a frozen runtime takes none'

function inMiB(bytes: number | null): number | null {
  return bytes === null ? null : bytes / mib
}

function verdictsOf(
  load: number,
  { holt, raw, floor }: { readonly holt: IdleOfHolt; readonly raw: Idle; readonly floor: Floor },
): readonly Verdict[] {
  const baseline = `idle runsc, ${rawLoad}`
  const seconds = watchedMs / 1000
  return [
    onFloor(
      compareFigures({
        what: `memory of each of ${load} idle`,
        unit: 'MiB',
        value: inMiB(holt.bytesEach),
        baseline: { name: baseline, value: inMiB(raw.bytesEach) },
        target: { of: 'ratio', at: 'most', bound: 1.5 },
      }),
      floor,
    ),
    compareFigures({
      what: `memory of the daemon for each of ${load}`,
      unit: 'MiB',
      value: inMiB(holt.daemonBytesEach),
      baseline: null,
      target: null,
    }),
    compareFigures({
      what: `CPU time of ${load} idle in ${seconds} s`,
      unit: 'ms',
      value: holt.cpuMs,
      baseline: { name: baseline, value: raw.cpuMs },
      target: { of: 'value', at: 'most', bound: 0 },
    }),
    compareFigures({
      what: `CPU time of the daemon beside ${load} in ${seconds} s`,
      unit: 'ms',
      value: holt.daemonCpuMs,
      baseline: null,
      target: null,
    }),
  ]
}

async function creates(
  stage: Stage,
  { load, rounds }: { readonly load: number; readonly rounds: number },
): Promise<readonly SeriesReport[]> {
  const series = createSeries(load)
  let runtime: Runtime | null = null
  const subject: Subject = {
    series: [series],
    prepare: () => stage.untilPooled('gvisor', pooled),
    perform: async () => [
      await timed(series, async () => {
        runtime = await stage.holt.runtimes.create({}, { signal: stage.signal })
      }),
    ],
    tidy: async () => {
      await runtime?.delete()
      runtime = null
    },
    cpuMs: stage.holtCpuMs,
    background: true,
  }
  const length = { rounds, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
  const floor = {
    ...floorSubject(stage, floorSeries(load), () => stage.plain.writeDurably(stage.signal)),
    // Filling the pool takes both processors.
    prepare: () => stage.untilPooled('gvisor', pooled),
  }
  return seriesReports(await stage.batch(series, [subject, floor], length))
}

function createSeries(load: number): string {
  return load === 0 ? 'create, nothing beside it' : `create beside ${load} idle`
}

function floorSeries(load: number): string {
  return `durable write beside ${load} idle`
}

async function fromMakers(count: number, make: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const maker = async () => {
    while (next < count) await make(next++)
  }
  await Promise.all(Array.from({ length: makers }, maker))
}

function bytesEach(use: MemoryUse | null): number | null {
  return use === null || use.groups === 0 ? null : use.bytes / use.groups
}

function difference(after: number | null, before: number | null): number | null {
  return after === null || before === null ? null : after - before
}
