import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Isolation, Runtime } from '@holt/sdk'
import { measuredFloor } from '../support/floors/subjects.ts'
import { compare, floorOf, onFloor, type SeriesReport, seriesReports } from '../support/report.ts'
import { runProgram } from '../support/run-program.ts'
import type { Stage } from '../support/stage.ts'
import { type Operation, reasonOf, type Subject, timed } from '../support/subject.ts'
import { makeSource, makeSourceOnHost, parseClock, timedCopy } from './copy-source.ts'
import { type Row, type RowOptions, withoutPool } from './row.ts'

/** The sources of the copies. */
const shapes = [
  { name: '1 GiB file', source: '/bench/file', files: null },
  { name: 'tree of 20,000 files', source: '/bench/tree-20k', files: 20_000 },
  { name: 'tree of 100,000 files', source: '/bench/tree-100k', files: 100_000 },
] as const

/**
 * The seconds of one batch. The batches of a class then take some minutes, including set-up and
 * removal.
 */
const budgetSecs = 20
const leastRounds = 3
/** A round of 100,000 files in gVisor takes a minute, and rounds differ by some percent. */
const leastOfManyFiles = 2
const commandTimeoutSecs = 1800
const floorReason =
  '`cp -a` of the same number and size of files on the host; its kernel copies the bytes and makes the files, with nothing around'

/** B7: copies inside a runtime. */
export const b7: Row = {
  id: 'B7',
  title: '`files/copy` by the SDK over HTTP with a key, against `cp -a` in the same runtime',
  environment: withoutPool,
  measure: async (stage, options) => {
    const classes = [await copiesIn(stage, options, 'gvisor'), await copiesIn(stage, options, 'container')]
    const series = classes.flat()
    return {
      series,
      verdicts: (['gvisor', 'container'] as const).flatMap((isolation) =>
        shapes.map(({ name }) =>
          onFloor(
            compare(series, {
              what: `copy of a ${name}, ${isolation}`,
              subject: seriesName(isolation, name, 'files/copy'),
              baseline: seriesName(isolation, name, 'cp -a'),
              atMost: 1,
            }),
            floorOf(series, seriesName(isolation, name, 'cp -a on the host'), floorReason),
          ),
        ),
      ),
      absent: [],
      notes: [
        `A batch ends after ${options.budgetSecs ?? budgetSecs} s (at least ${leastRounds} rounds, ${leastOfManyFiles} of 100,000 files in gVisor): a copy of a large tree takes seconds. Removing what was copied is neither timed nor counted.`,
        'The copy is timed from the request to its answer; `cp -a` by the shell inside the runtime, so that no round trip is in it.',
        'CPU time of `cp -a` includes the daemon and the guest that carry it.',
      ],
    }
  },
}

async function copiesIn(stage: Stage, options: RowOptions, isolation: Isolation): Promise<readonly SeriesReport[]> {
  const series: SeriesReport[] = []
  for (const { name, source, files } of shapes) {
    await using runtime = await stage.holt.runtimes.create(
      { template: 'base-medium', isolation },
      { signal: stage.signal },
    )
    stage.say(`copies, ${isolation}: making a ${name}`)
    await runAsRoot(runtime, makeSource(source, files), stage.signal)
    const copy = { stage, runtime, source, name }
    const isLong = isolation === 'gvisor' && (files ?? 0) >= 100_000
    const length = {
      rounds: options.rounds,
      budgetMs: (options.budgetSecs ?? budgetSecs) * 1000,
      leastRounds: isLong ? leastOfManyFiles : leastRounds,
    }
    await using place = await makeHostPlace(files)
    const subjects = [apiSubject(copy), cpSubject(copy), hostSubject(copy, place.dir)]
    series.push(...seriesReports(await stage.batch(`copies, ${isolation}, ${name}`, subjects, length)))
  }
  return series
}

interface Copy {
  readonly stage: Stage
  readonly runtime: Runtime
  readonly source: string
  readonly name: string
}

function apiSubject({ stage, runtime, source, name }: Copy): Subject {
  const series = seriesName(runtime.isolation, name, 'files/copy')
  const destination = `${source}.copy`
  const perform = async () => [
    await timed(series, () => runtime.files.copy(source, destination, { recursive: true, signal: stage.signal })),
  ]
  return {
    series: [series],
    prepare: () => remove(stage, runtime, source),
    perform,
    cpuMs: stage.holtCpuMs,
    background: false,
  }
}

function cpSubject({ stage, runtime, source, name }: Copy): Subject {
  const series = seriesName(runtime.isolation, name, 'cp -a')
  const perform = async (): Promise<readonly Operation[]> => {
    try {
      const output = await runAsRoot(runtime, timedCopy(source, `${source}.cp`), stage.signal)
      return [{ series, ms: parseClock(output), error: null }]
    } catch (error) {
      return [{ series, ms: 0, error: reasonOf(error) }]
    }
  }
  return {
    series: [series],
    prepare: () => remove(stage, runtime, source),
    perform,
    cpuMs: stage.holtCpuMs,
    background: false,
  }
}

/** The directory of the floor's files, on the file system of the runtimes' disks. */
const hostDir = new URL('../../.holt/', import.meta.url).pathname

async function makeHostPlace(files: number | null): Promise<AsyncDisposable & { readonly dir: string }> {
  const dir = await mkdtemp(join(hostDir, 'copy-'))
  const place = { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
  try {
    await makeSourceOnHost(join(dir, 'source'), files)
    return place
  } catch (error) {
    await place[Symbol.asyncDispose]()
    throw error
  }
}

function hostSubject({ stage, runtime, name }: Copy, dir: string): Subject {
  const [source, copy] = [join(dir, 'source'), join(dir, 'copy')]
  const argv = timedCopy(source, copy)
  const options = { timeoutMs: commandTimeoutSecs * 1000, signal: stage.signal }
  return {
    ...measuredFloor(stage, seriesName(runtime.isolation, name, 'cp -a on the host'), async () =>
      parseClock(await runProgram(argv, options)),
    ),
    prepare: () => rm(copy, { recursive: true, force: true }),
  }
}

/** Removes both copies, so that both subjects find the same disk usage. */
async function remove(stage: Stage, runtime: Runtime, source: string): Promise<void> {
  await runAsRoot(runtime, ['rm', '-rf', '--', `${source}.copy`, `${source}.cp`], stage.signal)
}

async function runAsRoot(runtime: Runtime, argv: readonly string[], signal: AbortSignal): Promise<string> {
  const result = await runtime.commands.run(argv, { user: 'root', cwd: '/', timeout_secs: commandTimeoutSecs, signal })
  if (result.exit_code !== 0) throw new Error(`${argv[0]} ended with ${result.exit_code}: ${result.stderr.slice(-300)}`)
  return result.stdout
}

function seriesName(isolation: Isolation, name: string, by: string): string {
  return `${by}, ${name}, ${isolation}`
}
