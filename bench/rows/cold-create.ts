import type { CreateRuntimeInput } from '@holt/protocol'
import { type Runtime, Template } from '@holt/sdk'
import { reasons } from '../support/floors/subjects.ts'
import type { RawRunner } from '../support/raw-runner.ts'
import {
  compare,
  compareCpu,
  cpuFloorOf,
  type Findings,
  floorOf,
  onFloor,
  type SeriesReport,
  seriesReports,
} from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { cpuTimed, type Operation, type Subject, timed } from '../support/subject.ts'
import { type Row, withoutPool } from './row.ts'

const fromCheckpoint = 'create from the checkpoint'
const coldBoot = 'create by a cold boot'
/** A template with an application, and so with a checkpoint. */
const appTemplate = 'bench-restored'
const baseline = 'runsc create + start'
const bareBoot = 'bare boot'
/** Each operation takes longer than 100 ms. */
const defaultRounds = 30
/**
 * The allowed ratios: to `runsc create` and `start`, in wall and CPU time, and of the sandbox to
 * `runsc run`.
 */
const atMost = { ofStart: 1.2, ofRun: 1.35 } as const

const inSandbox = (series: string) => `CPU time in the sandbox, ${series}`
const runCpu = 'CPU time of runsc run'
const bareRunCpu = 'CPU time of a bare run'
const bareRunReason = '`runsc run` of `true` without mounts, gofer or disk; each create needs a sandbox'

/** B3: a create without a pool. */
export const b3: Row = {
  id: 'B3',
  title: 'cold create, class gvisor, by the SDK over HTTP with a key',
  environment: withoutPool,
  measure: async (stage, options) => {
    await using raw = await stage.openRawRunner('gvisor')
    await using bare = await stage.openBareRunner()
    await using template = await buildApplication(stage)
    const subjects = [
      createSubject(stage, fromCheckpoint, { isolation: 'gvisor', template: appTemplate }),
      createSubject(stage, coldBoot, { isolation: 'gvisor' }),
      await rawSubject(stage, raw, baseline),
      { ...(await rawSubject(stage, bare, bareBoot)), isFloor: true },
      await runSubject(stage, raw, runCpu),
      { ...(await runSubject(stage, bare, bareRunCpu)), isFloor: true },
    ]
    const length = { rounds: options.rounds ?? defaultRounds, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
    const series = seriesReports(await stage.batch('cold create', subjects, length))
    return {
      series,
      verdicts: verdictsOf(series, template.hasCheckpoint),
      absent: template.hasCheckpoint ? [] : ['the checkpoint: none could be taken, both creates boot'],
      notes: [
        'The template with a checkpoint is base-small with `sleep` as its application; base-small boots.',
        'A create answers when the guest is bound and would run a command; `start` answers when the first process is started.',
        'Deleting is not timed, but its CPU time counts, of both.',
        'A series named "CPU time" has CPU milliseconds in place of durations: those of the sandbox with its gofer until the create answers, and those of `runsc run` of `true` from its start to its end.',
      ],
    }
  },
}

/** Builds a template of base-small in which an idle application runs. Its disposal deletes it. */
async function buildApplication({
  holt,
  signal,
}: Stage): Promise<AsyncDisposable & { readonly hasCheckpoint: boolean }> {
  const template = Template(appTemplate).fromTemplate('base-small').startCmd('sleep infinity').readyCmd('true')
  await template.buildAndWait({ holt, signal })
  const { has_checkpoint: hasCheckpoint } = await holt.templates.get(appTemplate, { signal })
  return { hasCheckpoint, [Symbol.asyncDispose]: () => holt.templates.delete(appTemplate) }
}

function verdictsOf(series: readonly SeriesReport[], hasCheckpoint: boolean): Findings['verdicts'] {
  return [fromCheckpoint, coldBoot].flatMap((subject) => {
    const isJudged = subject === coldBoot || hasCheckpoint
    const of = (name: string, bound: number) => ({ what: name, atMost: isJudged ? bound : null })
    const cpu = inSandbox(subject)
    return [
      onFloor(
        compare(series, { ...of(subject, atMost.ofStart), subject, baseline }),
        floorOf(series, bareBoot, reasons.boot),
      ),
      onFloor(
        compareCpu(series, { ...of(`${subject}, CPU time`, atMost.ofStart), subject, baseline }),
        cpuFloorOf(series, bareBoot, reasons.boot),
      ),
      onFloor(
        compare(series, { ...of(cpu, atMost.ofRun), subject: cpu, baseline: runCpu }),
        floorOf(series, bareRunCpu, bareRunReason),
      ),
    ]
  })
}

function createSubject(stage: Stage, series: string, body: CreateRuntimeInput): Subject {
  let runtime: Runtime | null = null
  return {
    series: [series, inSandbox(series)],
    perform: async () => {
      const operations: Operation[] = []
      const sandbox = await cpuTimed({
        series: inSandbox(series),
        cpuMs: stage.runtimesCpuMs,
        operation: async () => {
          const create = await timed(series, async () => {
            runtime = await stage.holt.runtimes.create(body, { signal: stage.signal })
          })
          operations.push(create)
        },
      })
      return [...operations, { ...sandbox, error: sandbox.error ?? operations[0]?.error ?? null }]
    },
    tidy: async () => {
      await runtime?.delete()
      runtime = null
    },
    cpuMs: stage.holtCpuMs,
    // Two subjects share the daemon, so only CPU time within their own rounds can be attributed.
    background: false,
  }
}

async function rawSubject(stage: Stage, raw: RawRunner, series: string): Promise<Subject> {
  const id = 'sleeper'
  await raw.writeBundle(id, ['/bin/sleep', '3600'])
  return {
    series: [series],
    perform: async () => [await timed(series, () => raw.createAndStart(id))],
    tidy: () => raw.remove(id),
    cpuMs: stage.rawCpuMs,
    background: false,
  }
}

/** Returns the subject of a whole life of a runtime that runs `true`, measured by its CPU time. */
async function runSubject(stage: Stage, raw: RawRunner, series: string): Promise<Subject> {
  await raw.writeBundle('true', ['/bin/true'])
  return {
    series: [series],
    perform: async () => [await cpuTimed({ series, cpuMs: stage.rawCpuMs, operation: () => raw.run('true') })],
    cpuMs: stage.rawCpuMs,
    background: false,
  }
}
