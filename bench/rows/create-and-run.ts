import type { Isolation, Runtime } from '@holt/sdk'
import { reasons } from '../support/floors/subjects.ts'
import { podmanRun } from '../support/podman.ts'
import type { RawRunner } from '../support/raw-runner.ts'
import { compare, type Findings, floorOf, medianWithin, onFloor, seriesReports } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Operation, reasonOf, type Subject, timed } from '../support/subject.ts'
import { type Row, type RowOptions, withPoolOf } from './row.ts'

/** The runtimes in the pool when a round begins: the daemon's default. */
const pooled = 2

const createFloor = 'durable write'
const withCommandFloor = 'durable write, HTTP answer, spawn inside'

interface Targets {
  readonly createMs: number
  readonly withCommandMs: number
  readonly ofRun: number
}

/** B1: a create and a first command, for untrusted code. */
export const b1: Row = {
  id: 'B1',
  title: 'create and run `true`, class gvisor, from a pool, by the SDK over HTTP with a key',
  environment: withPoolOf('gvisor', pooled),
  measure: (stage, options) => createAndRun(stage, options, 'gvisor', { createMs: 5, withCommandMs: 15, ofRun: 0.1 }),
}

/** B2: a create and a first command, for trusted code. */
export const b2: Row = {
  id: 'B2',
  title: 'create and run `true`, class container, from a pool, by the SDK over HTTP with a key',
  environment: withPoolOf('container', pooled),
  measure: (stage, options) => createAndRun(stage, options, 'container', { createMs: 5, withCommandMs: 8, ofRun: 0.4 }),
}

async function createAndRun(
  stage: Stage,
  options: RowOptions,
  isolation: Isolation,
  targets: Targets,
): Promise<Findings> {
  await using raw = await stage.openRawRunner(isolation)
  await raw.writeBundle('true', ['/bin/true'])
  const podman = isolation === 'container' ? podmanSubject(stage, raw) : null
  // Baselines and floors wait for the pool as well, because filling it takes both processors.
  const prepare = () => stage.untilPooled(isolation, pooled)
  const subjects = [
    holtSubject(stage, isolation),
    rawSubject(stage, raw),
    ...(podman === null ? [] : [podman]),
    floorSubject(stage, raw),
  ].map((subject) => ({ ...subject, prepare }))
  const length = { rounds: options.rounds, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
  const series = seriesReports(await stage.batch(`create and run, ${isolation}`, subjects, length))
  const runs = [`${raw.name} run`, ...(podman === null ? [] : ['podman run'])]
  const floors = {
    create: floorOf(series, createFloor, reasons.durable),
    withCommand: floorOf(series, withCommandFloor, `the durable write, an empty HTTP answer, and ${reasons.spawn}`),
  }
  const create = medianWithin(series, { what: `create, ${isolation}`, subject: 'create', ms: targets.createMs })
  const withCommand = [
    medianWithin(series, { what: `create + true, ${isolation}`, subject: 'create + true', ms: targets.withCommandMs }),
    ...runs.map((baseline) =>
      compare(series, {
        what: `create + true, ${isolation}`,
        subject: 'create + true',
        baseline,
        atMost: baseline === `${raw.name} run` ? targets.ofRun : null,
      }),
    ),
  ]
  return {
    series,
    verdicts: [onFloor(create, floors.create), ...withCommand.map((verdict) => onFloor(verdict, floors.withCommand))],
    absent: podman === null ? [podmanAbsence(isolation)] : [],
    notes: [
      `Each part of a round begins when ${pooled} runtimes wait in the pool and none is being made.`,
      'Deleting, and making the next one for the pool, is not timed, but its CPU time counts.',
    ],
  }
}

function holtSubject(stage: Stage, isolation: Isolation): Subject {
  let runtime: Runtime | null = null
  return {
    series: ['create', 'create + true'],
    perform: async () => {
      const startedAt = performance.now()
      const operations: Operation[] = []
      try {
        runtime = await stage.holt.runtimes.create({ isolation }, { signal: stage.signal })
        operations.push({ series: 'create', ms: performance.now() - startedAt, error: null })
        const { exit_code } = await runtime.commands.run(['/bin/true'], { signal: stage.signal })
        const error = exit_code === 0 ? null : `true ended with ${exit_code}`
        operations.push({ series: 'create + true', ms: performance.now() - startedAt, error })
      } catch (error) {
        const missing = operations.length === 0 ? ['create', 'create + true'] : ['create + true']
        operations.push(
          ...missing.map((series) => ({ series, ms: performance.now() - startedAt, error: reasonOf(error) })),
        )
      }
      return operations
    },
    tidy: async () => {
      await runtime?.delete()
      runtime = null
    },
    cpuMs: stage.holtCpuMs,
    background: true,
  }
}

function rawSubject(stage: Stage, raw: RawRunner): Subject {
  const series = `${raw.name} run`
  return {
    series: [series],
    perform: async () => [await timed(series, () => raw.run('true'))],
    cpuMs: stage.rawCpuMs,
    background: false,
  }
}

/**
 * Returns the floor. It spawns inside a new runtime of the runner each time, because an idle one
 * would take CPU time during the baseline.
 */
function floorSubject({ plain, signal }: Stage, raw: RawRunner): Subject {
  return {
    series: [createFloor, withCommandFloor],
    perform: async () => {
      const create = await timed(createFloor, () => plain.writeDurably(signal))
      const command = await timed(withCommandFloor, () => plain.get('/', signal))
      try {
        const [spawn = Number.NaN] = await raw.spawnsInNew('spawns', { clients: 1, each: 1 })
        return [create, { ...command, ms: create.ms + command.ms + spawn, error: create.error ?? command.error }]
      } catch (error) {
        return [create, { ...command, error: reasonOf(error) }]
      }
    },
    // The CPU time would include the start of the runtime.
    cpuMs: () => null,
    background: false,
    isFloor: true,
  }
}

function podmanSubject(stage: Stage, raw: RawRunner): Subject | null {
  const run = podmanRun(raw.place, stage.signal)
  if (run === null) return null
  const series = 'podman run'
  return { series: [series], perform: async () => [await timed(series, run)], cpuMs: stage.rawCpuMs, background: false }
}

function podmanAbsence(isolation: Isolation): string {
  return isolation === 'container'
    ? 'podman run: podman is not installed'
    : 'podman run: no gVisor; B2 is where it is compared, if it is installed'
}
