import type { Runtime } from '@holt/sdk'
import type { RawRunner } from '../support/raw-runner.ts'
import { compare, compareRates, medianWithin, seriesReports } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Operation, reasonOf, type Subject, timed } from '../support/subject.ts'
import { type Row, withPoolOf } from './row.ts'

const atOnce = 100
const workers = 4
const roundsAtOnce = 5
const roundsSustained = 2
const sustainedSecs = 60

const each = 'create, 100 at once'
const wall = '100 creates at once, wall'
const rawWall = `100 runsc run by ${workers} workers, wall`
const sustained = 'sustained create and delete'
const rawSustained = `sustained runsc run, ${workers} workers`

/** B4: many creates, at once and for long. */
export const b4: Row = {
  id: 'B4',
  title: '100 creates at once from a pool of 100, and creates with deletes for a minute, class gvisor',
  environment: { ...withPoolOf('gvisor', atOnce), HOLT_POOL_MAX: String(atOnce) },
  measure: async (stage, options) => {
    await using raw = await stage.openRawRunner('gvisor')
    for (const id of workerIds) await raw.writeBundle(id, ['/bin/true'])
    const endless = { budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
    const burst = await stage.batch('creates at once', [burstSubject(stage), rawBurstSubject(stage, raw)], {
      rounds: options.rounds ?? roundsAtOnce,
      ...endless,
    })
    const lengthMs = 1000 * (options.budgetSecs ?? sustainedSecs)
    const long = [sustainedSubject(stage, lengthMs), rawSustainedSubject(stage, raw, lengthMs)]
    const series = seriesReports([
      ...burst,
      ...(await stage.batch('sustained', long, { rounds: options.rounds ?? roundsSustained, ...endless })),
    ])
    return {
      series,
      verdicts: [
        medianWithin(series, { what: wall, subject: wall, ms: 500 }),
        compare(series, { what: wall, subject: wall, baseline: rawWall, atMost: null }),
        compareRates(series, { what: sustained, subject: sustained, baseline: rawSustained, atLeast: 1.2 }),
      ],
      absent: [],
      notes: [
        `A round of creates begins when ${atOnce} runtimes wait in the pool. Its wall time ends with the last answer, and counts only where all have succeeded.`,
        `Sustained: ${workers} clients create and delete for ${lengthMs / 1000} s. The clock stops when the pool is as full as it was, so that no runtime is counted that was made before.`,
        'Deleting is not timed in the first part, but its CPU time counts.',
      ],
    }
  },
}

const workerIds = Array.from({ length: workers }, (_, index) => `true-${index}`)

function burstSubject(stage: Stage): Subject {
  let made: Runtime[] = []
  return {
    series: [each, wall],
    prepare: () => stage.untilPooled('gvisor', atOnce),
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

function sustainedSubject(stage: Stage, lengthMs: number): Subject {
  return {
    series: [sustained],
    prepare: () => stage.untilPooled('gvisor', atOnce),
    perform: async () => {
      const until = performance.now() + lengthMs
      const operations: Operation[] = []
      await fromWorkers(async () => {
        while (performance.now() < until) {
          const made: Runtime[] = []
          operations.push(await timedCreate(stage, sustained, made))
          for (const runtime of made) await runtime.delete()
        }
      })
      await stage.untilPooled('gvisor', atOnce)
      return operations
    },
    cpuMs: stage.holtCpuMs,
    background: false,
  }
}

function rawSustainedSubject(stage: Stage, raw: RawRunner, lengthMs: number): Subject {
  return {
    series: [rawSustained],
    perform: async () => {
      const until = performance.now() + lengthMs
      const operations: Operation[] = []
      await fromWorkers(async (id) => {
        while (performance.now() < until) operations.push(await timed(rawSustained, () => raw.run(id)))
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
