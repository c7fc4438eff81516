import type { Isolation, Runtime } from '@holt/sdk'
import { commandFloor, reasons } from '../support/floors/subjects.ts'
import type { RawRunner } from '../support/raw-runner.ts'
import {
  compare,
  type Findings,
  floorOf,
  medianWithin,
  onFloor,
  rateAtLeast,
  type SeriesReport,
  seriesReports,
  type Verdict,
} from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Subject, timed } from '../support/subject.ts'
import { commandCpu, commandCpuNote } from './command-cpu.ts'
import { type Row, type RowOptions, withoutPool } from './row.ts'

const clientCounts = [1, 8] as const
/** The allowed ratios to `runsc exec`, by the number of clients. */
const ofExec = { 1: 0.35, 8: 0.5 } as const
const containerMs = 2.5
/** The commands of each client in a round with several clients, one after the other. */
const commandsOfEach = 10

/** B5: the time of a command that does nothing, and the rate of such commands. */
export const b5: Row = {
  id: 'B5',
  title: 'command round trip of `true`, 1 and 8 clients, by the SDK over HTTP with a key',
  environment: withoutPool,
  measure: async (stage, options) => {
    const classes = [await roundTrips(stage, options, 'gvisor'), await roundTrips(stage, options, 'container')]
    return {
      series: classes.flatMap(({ series }) => series),
      verdicts: classes.flatMap(({ verdicts }) => verdicts),
      absent: ['podman exec: runc exec stands for it'],
      notes: [
        `With 8 clients a round is 8 clients with ${commandsOfEach} commands each; the two classes are measured one after the other.`,
        'The floor of a rate is 1,000 by the p50 of the floor, times the clients.',
        commandCpuNote,
      ],
    }
  },
}

async function roundTrips(
  stage: Stage,
  options: RowOptions,
  isolation: Isolation,
): Promise<Pick<Findings, 'series' | 'verdicts'>> {
  await using raw = await stage.openRawRunner(isolation)
  await raw.writeBundle('idle', ['/bin/sleep', '7200'])
  await raw.createAndStart('idle')
  await using runtime = await stage.holt.runtimes.create({ isolation }, { signal: stage.signal })
  const series: SeriesReport[] = []
  for (const clients of clientCounts) {
    const floor = { series: floorName(isolation, clients), raw, id: 'idle', clients, each: eachOf(clients) }
    const subjects = [
      holtSubject({ stage, runtime, clients }),
      rawSubject({ stage, raw, clients }),
      commandFloor(stage, floor),
    ]
    const rounds = options.rounds ?? (clients === 1 ? null : 10)
    const length = { rounds, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
    series.push(...seriesReports(await stage.batch(`commands, ${isolation}, ${clients} clients`, subjects, length)))
  }
  const verdicts = verdictsOf(series, isolation, raw.name)
  if (isolation === 'container') return { series, verdicts }
  const cpu = await commandCpu(stage, options, { raw, id: 'idle' })
  return { series: [...series, ...cpu.series], verdicts: [...verdicts, ...cpu.verdicts] }
}

function verdictsOf(
  series: readonly SeriesReport[],
  isolation: Isolation,
  runner: RawRunner['name'],
): readonly Verdict[] {
  const floor = (clients: number) =>
    floorOf(series, floorName(isolation, clients), `an empty HTTP answer, and ${reasons.spawn}`)
  const comparisons = clientCounts.map((clients) =>
    onFloor(
      compare(series, {
        what: `command, ${isolation}, ${clients} client${clients === 1 ? '' : 's'}`,
        subject: seriesName(isolation, clients),
        baseline: seriesName(`${runner} exec`, clients),
        atMost: isolation === 'gvisor' ? ofExec[clients] : null,
      }),
      floor(clients),
    ),
  )
  const one = { what: 'command, container, 1 client', subject: seriesName(isolation, 1), ms: containerMs }
  const many = { what: `commands, ${isolation}, 8 clients`, subject: seriesName(isolation, 8), perSecond: 1000 }
  const { value: medianMs, ...ofMany } = floor(8)
  const rateFloor = { ...ofMany, value: medianMs === null ? null : (8 * 1000) / medianMs }
  return [
    ...comparisons,
    ...(isolation === 'container' ? [onFloor(medianWithin(series, one), floor(1))] : []),
    onFloor(rateAtLeast(series, many), rateFloor),
  ]
}

function holtSubject({ stage, runtime, clients }: { stage: Stage; runtime: Runtime; clients: number }): Subject {
  const series = seriesName(runtime.isolation, clients)
  const command = async () => {
    const { exit_code } = await runtime.commands.run(['/bin/true'], { signal: stage.signal })
    if (exit_code !== 0) throw new Error(`true ended with ${exit_code}`)
  }
  return {
    series: [series],
    perform: () => fromClients(series, clients, command),
    cpuMs: stage.holtCpuMs,
    background: false,
  }
}

function rawSubject({ stage, raw, clients }: { stage: Stage; raw: RawRunner; clients: number }): Subject {
  const series = seriesName(`${raw.name} exec`, clients)
  const command = () => raw.exec('idle', ['/bin/true'])
  return {
    series: [series],
    perform: () => fromClients(series, clients, command),
    cpuMs: stage.rawCpuMs,
    background: false,
  }
}

async function fromClients(series: string, clients: number, command: () => Promise<void>) {
  const client = async () => {
    const operations = []
    for (let done = 0; done < eachOf(clients); done++) operations.push(await timed(series, command))
    return operations
  }
  return (await Promise.all(Array.from({ length: clients }, client))).flat()
}

function eachOf(clients: number): number {
  return clients === 1 ? 1 : commandsOfEach
}

function floorName(isolation: Isolation, clients: number): string {
  return seriesName(`HTTP answer and spawn inside, ${isolation}`, clients)
}

function seriesName(what: string, clients: number): string {
  return clients === 1 ? what : `${what}, ${clients} clients`
}
