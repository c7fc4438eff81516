import type { Runtime } from '@holt/sdk'
import { floorSubject, reasons } from '../support/floors/subjects.ts'
import type { RawRunner } from '../support/raw-runner.ts'
import {
  compare,
  compareCpu,
  compareRates,
  cpuFloorOf,
  floorOf,
  medianWithin,
  onFloor,
  type SeriesReport,
  seriesReports,
  type Verdict,
} from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Operation, reasonOf, type Subject, timed } from '../support/subject.ts'
import { type Row, withPoolOf } from './row.ts'

/** The runtimes in the pool, and the concurrent creates. */
export const atOnce = 100
const workers = 4
const roundsAtOnce = 3
const roundsSustained = 2
/** The default length of a round of sustained creates, in seconds. Two rounds are a minute. */
export const sustainedSecs = 30

const each = 'create, 100 at once'
const wall = '100 creates at once, wall'
const rawWall = `100 runsc run by ${workers} workers, wall`
const sustained = 'sustained create and delete'
const rawSustained = `sustained runsc run, ${workers} workers`
const wallFloor = `${atOnce} durable writes at once, wall`
const sustainedFloor = `sustained bare run, ${workers} workers`

/** The settings of a daemon with such a pool. */
export const poolOfMany: Row['environment'] = { ...withPoolOf('gvisor', atOnce), HOLT_POOL_MAX: String(atOnce) }

/** B4: many creates, in a burst and sustained. */
export const b4: Row = {
  id: 'B4',
  title: '100 creates at once from a pool of 100, and creates with deletes for a minute, class gvisor',
  environment: poolOfMany,
  measure: async (stage, options) => {
    await using raw = await stage.openRawRunner('gvisor')
    await using bare = await stage.openBareRunner()
    for (const id of workerIds) for (const runner of [raw, bare]) await runner.writeBundle(id, ['/bin/true'])
    const endless = { budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
    // Baseline and floor wait for the pool as well, because filling it takes both processors.
    const prepare = () => stage.untilPooled('gvisor', atOnce)
    const bursts = [burstSubject(stage), rawBurstSubject(stage, raw), writesAtOnce(stage)].map((subject) => ({
      ...subject,
      prepare,
    }))
    const burst = await stage.batch('creates at once', bursts, {
      rounds: options.rounds ?? roundsAtOnce,
      ...endless,
    })
    const lengthMs = 1000 * (options.budgetSecs ?? sustainedSecs)
    const long = [
      sustainedSubject(stage, lengthMs),
      runsSubject(stage, { series: rawSustained, runner: raw, lengthMs }),
      { ...runsSubject(stage, { series: sustainedFloor, runner: bare, lengthMs }), isFloor: true },
    ]
    const series = seriesReports([
      ...burst,
      ...(await stage.batch('sustained', long, { rounds: options.rounds ?? roundsSustained, ...endless })),
    ])
    return {
      series,
      verdicts: verdictsOf(series),
      absent: [],
      notes: [
        `Each part of a round begins when ${atOnce} runtimes wait in the pool. Its wall time ends with the last answer, and counts only where all have succeeded.`,
        `Sustained: ${workers} clients create and delete for ${lengthMs / 1000} s. The clock stops when the pool is as full as it was, so that no runtime is counted that was made before.`,
        'Deleting is not timed in the first part, but its CPU time counts.',
      ],
    }
  },
}

function verdictsOf(series: readonly SeriesReport[]): readonly Verdict[] {
  const walls = [
    medianWithin(series, { what: wall, subject: wall, ms: 1000 }),
    compare(series, { what: wall, subject: wall, baseline: rawWall, atMost: null }),
  ]
  const rate = compareRates(series, { what: sustained, subject: sustained, baseline: rawSustained, atLeast: 0.9 })
  const cpu = compareCpu(series, {
    what: `CPU time of a ${sustained}`,
    subject: sustained,
    baseline: rawSustained,
    atMost: 1.3,
  })
  return [
    ...walls.map((verdict) => onFloor(verdict, floorOf(series, wallFloor, reasons.durable))),
    onFloor(rate, {
      name: sustainedFloor,
      value: series.find(({ name }) => name === sustainedFloor)?.per_second ?? null,
      why: bareRunReason,
    }),
    onFloor(cpu, cpuFloorOf(series, sustainedFloor, bareRunReason)),
  ]
}

const bareRunReason =
  '`runsc run` of `true` without mounts, gofer or disk; each create needs a sandbox, from a pool or not'

/** Returns the floor of a burst. With a full pool, each create only needs one durable write. */
function writesAtOnce(stage: Stage): Subject {
  return floorSubject(stage, wallFloor, () =>
    Promise.all(Array.from({ length: atOnce }, () => stage.plain.writeDurably(stage.signal))),
  )
}

const workerIds = Array.from({ length: workers }, (_, index) => `true-${index}`)

function burstSubject(stage: Stage): Subject {
  let made: Runtime[] = []
  return {
    series: [each, wall],
    perform: async () => {
      const startedAt = performance.now()
      const creates = await Promise.all(Array.from({ length: atOnce }, () => timedCreate(stage, each, made)))
      const failed = creates.find(({ error }) => error !== null)
      return [...creates, { series: wall, ms: performance.now() - startedAt, error: failed?.error ?? null }]
    },
    tidy: async () => {
      await Promise.all(made.map((runtime) => runtime.delete()))
      made = []
    },
    cpuMs: stage.holtCpuMs,
    background: false,
  }
}

async function timedCreate(stage: Stage, series: string, made: Runtime[]): Promise<Operation> {
  const startedAt = performance.now()
  try {
    made.push(await stage.holt.runtimes.create({}, { signal: stage.signal }))
    return { series, ms: performance.now() - startedAt, error: null }
  } catch (error) {
    return { series, ms: performance.now() - startedAt, error: reasonOf(error) }
  }
}

function rawBurstSubject(stage: Stage, raw: RawRunner): Subject {
  return {
    series: [rawWall],
    perform: async () => {
      let left = atOnce
      return [
        await timed(rawWall, () =>
          fromWorkers(async (id) => {
            while (left-- > 0) await raw.run(id)
          }),
        ),
      ]
    },
    cpuMs: stage.rawCpuMs,
    background: false,
  }
}

/**
 * Creates and deletes with several clients until a time (`performance.now`), as in B4. Returns the
 * creates.
 */
export async function createAndDelete(stage: Stage, until: number): Promise<readonly Operation[]> {
  const operations: Operation[] = []
  await fromWorkers(async () => {
    while (performance.now() < until) {
      const made: Runtime[] = []
      operations.push(await timedCreate(stage, sustained, made))
      for (const runtime of made) await runtime.delete()
    }
  })
  return operations
}

function sustainedSubject(stage: Stage, lengthMs: number): Subject {
  return {
    series: [sustained],
    prepare: () => stage.untilPooled('gvisor', atOnce),
    perform: async () => {
      const operations = await createAndDelete(stage, performance.now() + lengthMs)
      await stage.untilPooled('gvisor', atOnce)
      return operations
    },
    cpuMs: stage.holtCpuMs,
    background: false,
  }
}

function runsSubject(
  stage: Stage,
  { series, runner, lengthMs }: { series: string; runner: RawRunner; lengthMs: number },
): Subject {
  return {
    series: [series],
    perform: async () => {
      const until = performance.now() + lengthMs
      const operations: Operation[] = []
      await fromWorkers(async (id) => {
        while (performance.now() < until) operations.push(await timed(series, () => runner.run(id)))
      })
      return operations
    },
    cpuMs: stage.rawCpuMs,
    background: false,
  }
}

async function fromWorkers(work: (id: string) => Promise<void>): Promise<void> {
  await Promise.all(workerIds.map(work))
}
