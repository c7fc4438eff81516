import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Isolation, Runtime } from '@holt/sdk'
import { type EgressHost, hostNames } from '../support/egress-host.ts'
import { startRelay } from '../support/floors/kernel-copy.ts'
import {
  compareFigures,
  type Floor,
  floorOf,
  medianWithin,
  onFloor,
  type SeriesReport,
  seriesReports,
  type Verdict,
} from '../support/report.ts'
import { runProgram } from '../support/run-program.ts'
import type { Stage } from '../support/stage.ts'
import { cpuTimed, type Operation, type Subject } from '../support/subject.ts'
import { type Row, type RowOptions, withoutPool } from './row.ts'

type Way = keyof typeof hostNames

/**
 * The requests of one run of the client. A round is one run, so that no figure includes the
 * client's start.
 */
interface Load {
  readonly name: string
  readonly clients: number
  /** The requests of each client after the first one, which also opens the connection. */
  readonly requests: number
  readonly path: string
}

const bulkMiB = 64
const single: Load = { name: 'request', clients: 1, requests: 20, path: '/' }
const many: Load = { name: 'request, 8 clients', clients: 8, requests: 50, path: '/' }
const bulk: Load = { name: `${bulkMiB} MiB`, clients: 1, requests: 1, path: `/bytes/${bulkMiB << 20}` }

const clientFile = join(import.meta.dirname, '../support/egress-client.mjs')
const insideFile = '/tmp/egress-client.mjs'
const insideNode = '/usr/local/bin/node'
const clientTimeoutMs = 120_000
/** The targets: 100 MiB a second, and the time that the gateway may add to a request. */
const targets = { bulkMs: bulkMiB * 10, addedMs: 3 } as const
const defaultRounds = 6

/** B12: the cost of egress, spliced and with TLS terminated. */
export const b12: Row = {
  id: 'B12',
  title: 'egress through the gateway to a host on loopback, spliced and with TLS terminated',
  environment: withoutPool,
  measure: async (stage, options) => {
    const classes = [await wayOut(stage, options, 'gvisor'), await wayOut(stage, options, 'container')]
    return {
      series: classes.flatMap(({ series }) => series),
      verdicts: classes.flatMap(({ verdicts }) => verdicts),
      absent: [],
      notes: [
        'One Node program is the client everywhere and has the clock. `direct` runs on the host, `connect` is the first request of a connection, DNS and TLS included.',
        `The host is a process of its own, in nobody's CPU time. Rates of requests are 1,000 by the p50 times the clients; a round's wall time has the client's own start in it.`,
        'A series named "CPU time" has CPU milliseconds of the sandbox in place of durations; the CPU time of the other series has the daemon in it as well.',
      ],
    }
  },
}

async function wayOut(
  stage: Stage,
  { rounds, budgetSecs }: RowOptions,
  isolation: Isolation,
): Promise<{ series: readonly SeriesReport[]; verdicts: readonly Verdict[] }> {
  const host = stage.egressHost
  const allow = [{ host: hostNames.splice }, { host: hostNames.terminate, methods: ['GET'] }]
  await using runtime = await stage.holt.runtimes.create(
    { isolation, network_policy: { allow } },
    { signal: stage.signal },
  )
  await runtime.files.write(insideFile, await readFile(clientFile), { signal: stage.signal })
  await using relay = await startRelay(host.port, stage.signal)
  const series: SeriesReport[] = []
  const length = {
    rounds: rounds ?? defaultRounds,
    budgetMs: budgetSecs === null ? Number.POSITIVE_INFINITY : budgetSecs * 1000,
    leastRounds: 3,
  }
  for (const load of [single, many, bulk]) {
    const subjects = [
      direct({ stage, host, port: host.port, load, name: (what) => nameOf(isolation, 'direct', what) }),
      ...(['splice', 'terminate'] as const).map((way) => inside({ stage, host, load, runtime, way })),
      {
        ...direct({ stage, host, port: relay.port, load, name: (what) => nameOf(isolation, 'relayed', what) }),
        isFloor: true,
      },
    ]
    series.push(...seriesReports(await stage.batch(`${load.name}, ${isolation}`, subjects, length)))
  }
  return { series, verdicts: verdictsOf(series, isolation) }
}

function verdictsOf(series: readonly SeriesReport[], isolation: Isolation): readonly Verdict[] {
  const ways = ['splice', 'terminate'] as const
  return [
    ...ways.map((way) => added(series, isolation, way)),
    ...ways.map((way) =>
      onFloor(
        medianWithin(series, {
          what: `${bulk.name}, ${isolation}, ${way}`,
          subject: nameOf(isolation, way, bulk),
          ms: targets.bulkMs,
        }),
        floorOf(series, nameOf(isolation, 'relayed', bulk), relayReason),
      ),
    ),
  ]
}

const relayReason =
  'the same client on the host through a relay that only calls `splice`; the gateway stands between two connections'

/** Returns the verdict on the time that the gateway adds to the p50 of a request. */
function added(series: readonly SeriesReport[], isolation: Isolation, way: Way): Verdict {
  const baseline = nameOf(isolation, 'direct', single)
  const median = (name: string) => series.find((each) => each.name === name)?.duration?.p50_ms ?? null
  const base = median(baseline)
  const addedBy = (name: string) => {
    const through = median(name)
    return through === null || base === null ? null : Number((through - base).toPrecision(3))
  }
  const relayed = nameOf(isolation, 'relayed', single)
  const floor: Floor = { name: `added to a ${relayed}`, value: addedBy(relayed), why: relayReason }
  const verdict = compareFigures({
    what: `added to a request, ${isolation}, ${way}`,
    unit: 'ms',
    value: addedBy(nameOf(isolation, way, single)),
    baseline: { name: baseline, value: base },
    target: { of: 'value', at: 'most', bound: targets.addedMs },
  })
  // The ratio of a difference to a whole request has no meaning.
  return onFloor({ ...verdict, ratio: null }, floor)
}

function direct(options: {
  stage: Stage
  host: EgressHost
  /** The host's own port, or that of a relay to it. */
  port: number
  load: Load
  name: (load: Pick<Load, 'name'>) => string
}): Subject {
  const { stage, host, port, load, name } = options
  const { caPem } = host
  return subjectOf({
    load,
    name,
    run: () => {
      const asked = JSON.stringify({ ...load, host: '127.0.0.1', name: hostNames.splice, port, ca: caPem })
      return runProgram([process.execPath, clientFile, asked], { timeoutMs: clientTimeoutMs, signal: stage.signal })
    },
    cpuMs: stage.rawCpuMs,
  })
}

function inside(options: { stage: Stage; host: EgressHost; load: Load; runtime: Runtime; way: Way }): Subject {
  const { stage, host, load, runtime, way } = options
  const name = hostNames[way]
  // The runtime already trusts the gateway's certificates.
  const ca = way === 'splice' ? { ca: host.caPem } : {}
  const subject = subjectOf({
    load,
    name: (what) => nameOf(runtime.isolation, way, what),
    run: async () => {
      const argv = [insideNode, insideFile, JSON.stringify({ ...load, host: name, name, port: 443, ...ca })]
      const { exit_code, stdout, stderr } = await runtime.commands.run(argv, { signal: stage.signal })
      if (exit_code !== 0) throw new Error(`the client ended with ${exit_code}: ${stderr.slice(-300)}`)
      return stdout
    },
    cpuMs: stage.holtCpuMs,
  })
  return load === bulk ? withSandboxCpu(stage, subject, nameOf(runtime.isolation, way, load)) : subject
}

/** Adds a series with the CPU time of the sandbox. The client inside is part of it. */
function withSandboxCpu(stage: Stage, subject: Subject, name: string): Subject {
  const series = `CPU time in the sandbox, ${name}`
  return {
    ...subject,
    series: [...subject.series, series],
    perform: async (round) => {
      const operations: Operation[] = []
      const operation = async () => {
        operations.push(...(await subject.perform(round)))
      }
      const cpu = await cpuTimed({ series, cpuMs: stage.runtimesCpuMs, operation })
      return [...operations, { ...cpu, error: cpu.error ?? operations[0]?.error ?? null }]
    },
  }
}

function subjectOf(options: {
  load: Load
  name: (load: Pick<Load, 'name'>) => string
  run: () => Promise<string>
  cpuMs: Subject['cpuMs']
}): Subject {
  const { load, name, run, cpuMs } = options
  const connecting = name({ name: 'connect' })
  const own = name(load)
  const perform = async (): Promise<Operation[]> => {
    try {
      const told = JSON.parse(await run()) as { connecting: number[]; times: number[] }
      const operations = told.times.map((ms): Operation => ({ series: own, ms, error: null }))
      if (load !== single) return operations
      return [...told.connecting.map((ms): Operation => ({ series: connecting, ms, error: null })), ...operations]
    } catch (error) {
      return [{ series: own, ms: 0, error: error instanceof Error ? error.message : String(error) }]
    }
  }
  return { series: load === single ? [connecting, own] : [own], perform, cpuMs, background: false }
}

function nameOf(isolation: Isolation, way: Way | 'direct' | 'relayed', load: Pick<Load, 'name'>): string {
  return way === 'direct' || way === 'relayed'
    ? `${load.name}, ${way} (${isolation})`
    : `${load.name}, ${isolation}, ${way}`
}
