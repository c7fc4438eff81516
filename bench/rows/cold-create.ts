import type { CreateRuntimeInput } from '@holt/protocol'
import type { Runtime } from '@holt/sdk'
import { reasons } from '../support/floors/subjects.ts'
import type { RawRunner } from '../support/raw-runner.ts'
import { compare, floorOf, onFloor, seriesReports } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Subject, timed } from '../support/subject.ts'
import { type Row, withoutPool } from './row.ts'

const fromCheckpoint = 'create from the checkpoint'
const coldBoot = 'create by a cold boot'
const baseline = 'runsc create + start'
const bareBoot = 'bare boot'

/** B3: a create without a pool. */
export const b3: Row = {
  id: 'B3',
  title: 'cold create, class gvisor, by the SDK over HTTP with a key',
  environment: withoutPool,
  measure: async (stage, options) => {
    await using raw = await stage.openRawRunner('gvisor')
    await using bare = await stage.openBareRunner()
    const template = await stage.holt.templates.get('base-small', { signal: stage.signal })
    // No checkpoint has this size, so the runtime boots.
    const memory = `${template.memory_mib + 1}MiB`
    const subjects = [
      createSubject(stage, fromCheckpoint, { isolation: 'gvisor' }),
      createSubject(stage, coldBoot, { isolation: 'gvisor', memory }),
      await rawSubject(stage, raw, baseline),
      { ...(await rawSubject(stage, bare, bareBoot)), isFloor: true },
    ]
    const length = { rounds: options.rounds, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
    const series = seriesReports(await stage.batch('cold create', subjects, length))
    return {
      series,
      verdicts: [
        compare(series, {
          what: fromCheckpoint,
          subject: fromCheckpoint,
          baseline,
          atMost: template.has_checkpoint ? 1.15 : null,
        }),
        compare(series, { what: coldBoot, subject: coldBoot, baseline, atMost: 1.15 }),
      ].map((verdict) => onFloor(verdict, floorOf(series, bareBoot, reasons.boot))),
      absent: template.has_checkpoint ? [] : ['the checkpoint: base-small has none, both creates boot'],
      notes: [
        'A create answers when the guest is bound and would run a command; `start` answers when the first process is started.',
        'Deleting is not timed, but its CPU time counts, of both.',
      ],
    }
  },
}

function createSubject(stage: Stage, series: string, body: CreateRuntimeInput): Subject {
  let runtime: Runtime | null = null
  return {
    series: [series],
    perform: async () => [
      await timed(series, async () => {
        runtime = await stage.holt.runtimes.create(body, { signal: stage.signal })
      }),
    ],
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
