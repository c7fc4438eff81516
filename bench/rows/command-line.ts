import { join } from 'node:path'
import { type Credentials, credentialsPath, readCredentialsFile } from '@holt/sdk'
import { peakMemoryMiB } from '../support/peak-memory.ts'
import {
  compare,
  compareCpu,
  compareFigures,
  cpuFloorOf,
  type Findings,
  floorOf,
  onFloor,
  seriesReports,
} from '../support/report.ts'
import { runProgram, runSilently } from '../support/run-program.ts'
import type { Stage } from '../support/stage.ts'
import { type Subject, timed } from '../support/subject.ts'
import { type Row, type RowOptions, withoutPool } from './row.ts'

const repo = join(import.meta.dirname, '../..')
const holt = join(repo, 'packages/cli/bin/holt')
/**
 * The longest time of one start, in milliseconds. It usually takes a tenth of a second, and a few
 * seconds on a busy machine.
 */
const timeoutMs = 60_000
const nodeAlone = 'node -e 0'
const floorReason = 'the start and the end of Node itself; the command line is a program for Node'
const bundleTimeoutMs = 300_000
/** The most memory of a command line, in MiB, and the number of runs that it is the maximum of. */
const mostMemoryMiB = 60
const memoryRuns = 5

/** One command line, its baseline, and the highest allowed ratio. */
interface Comparison {
  readonly name: string
  readonly args: readonly string[]
  readonly baseline: string
  readonly programs: readonly (readonly string[])[]
  readonly atMost: number
}

/** B15: the time of a command line from the start of its process to the end. */
export const b15: Row = {
  id: 'B15',
  title: 'the command line, from the bundle, a new process each time',
  environment: withoutPool,
  measure: async (stage, options) => {
    const bundler = [process.execPath, join(repo, 'scripts/bundle.ts')]
    await runProgram(bundler, { timeoutMs: bundleTimeoutMs, signal: stage.signal })
    await using runtime = await stage.holt.runtimes.create({ isolation: 'container' }, { signal: stage.signal })
    const credentials = readCredentialsFile(credentialsPath({ HOLT_STATE_DIR: join(repo, '.holt/bench') }))
    if (credentials === null) throw new Error('the daemon of the bench has left no credentials')
    // The result is awaited here, because the runtime is deleted when this function returns.
    return await measureAll(comparisonsOf(credentials, runtime.runtime_id), { stage, options, credentials })
  },
}

function comparisonsOf({ url, key }: Credentials, runtimeId: string): readonly Comparison[] {
  const node = [process.execPath, '-e', '0']
  const runtimes = `${url}/v1/agents/runtime`
  const curl = ['curl', '-sf', '-H', `Authorization: Bearer ${key}`]
  const command = ['-H', 'Content-Type: application/json', '-d', '{"argv":["true"]}']
  const execute = [...curl, ...command, `${runtimes}/${runtimeId}/commands`]
  return [
    { name: 'holt --version', args: ['--version'], baseline: 'node -e 0', programs: [node], atMost: 1.5 },
    {
      name: 'holt ls',
      args: ['ls'],
      baseline: 'curl of the list, node -e 0',
      programs: [[...curl, `${runtimes}?limit=100`], node],
      atMost: 2,
    },
    {
      name: 'holt exec',
      args: ['exec', runtimeId, '--', 'true'],
      baseline: 'curl of the command, node -e 0',
      programs: [execute, node],
      atMost: 2.5,
    },
  ]
}

async function measureAll(
  comparisons: readonly Comparison[],
  { stage, options, credentials }: { stage: Stage; options: RowOptions; credentials: Credentials },
): Promise<Findings> {
  const environment = { HOLT_URL: credentials.url, HOLT_API_KEY: credentials.key, HOME: process.env.HOME ?? '/root' }
  const subjectOf = (series: string, programs: readonly (readonly string[])[]): Subject => ({
    series: [series],
    perform: async () => [
      await timed(series, async () => {
        for (const argv of programs) await runSilently(argv, { timeoutMs, signal: stage.signal, environment })
      }),
    ],
    cpuMs: stage.rawCpuMs,
    background: false,
  })
  const subjects = comparisons.flatMap(({ name, args, baseline, programs }) => [
    subjectOf(name, [[holt, ...args]]),
    subjectOf(baseline, programs),
  ])
  const length = { rounds: options.rounds, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
  const series = seriesReports(await stage.batch('command lines', subjects, length))
  const memoryOf = (argv: readonly string[]) =>
    peakMemoryMiB(argv, memoryRuns, { timeoutMs, signal: stage.signal, environment })
  const memoryOfNode = { name: nodeAlone, value: await memoryOf([process.execPath, '-e', '0']) }
  const memory = new Map<string, number>()
  for (const { name, args } of comparisons) memory.set(name, await memoryOf([holt, ...args]))
  return {
    series,
    verdicts: comparisons.flatMap(({ name, baseline, atMost }) => [
      onFloor(
        compareCpu(series, { what: `${name}, CPU time`, subject: name, baseline, atMost }),
        cpuFloorOf(series, nodeAlone, floorReason),
      ),
      onFloor(
        compare(series, { what: `${name}, p50`, subject: name, baseline, atMost: null }),
        floorOf(series, nodeAlone, floorReason),
      ),
      onFloor(
        compareFigures({
          what: `${name}, peak memory`,
          unit: 'MiB',
          value: memory.get(name) ?? null,
          baseline: memoryOfNode,
          target: { of: 'value', at: 'most', bound: mostMemoryMiB },
        }),
        { ...memoryOfNode, why: floorReason },
      ),
    ]),
    absent: [],
    notes: [
      'The targets hold for the CPU time of the processes alone, without the daemon: a busy machine disturbs it least.',
    ],
  }
}
