import { join } from 'node:path'
import type { Isolation } from '@holt/sdk'
import { pythonWithJupyter } from '../support/python-client.ts'
import { PythonProcess } from '../support/python-process.ts'
import {
  compare,
  type Findings,
  floorOf,
  medianWithin,
  onFloor,
  type SeriesReport,
  seriesReports,
  type Verdict,
} from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import {
  answersFloor,
  firstSubject,
  floorName,
  type JupyterRound,
  jupyterSubject,
  type Measured,
  names,
  runsOfRound,
  seriesName,
  type What,
  warmSubject,
} from './code-subjects.ts'
import { buildCodeTemplate, codeTemplate, removeCodeTemplate } from './code-template.ts'
import type { Row, RowOptions } from './row.ts'

const repo = join(import.meta.dirname, '../..')
const jupyterProgram = join(repo, 'bench/support/jupyter-client.py')
const isolations = ['gvisor', 'container'] as const satisfies readonly Isolation[]
const whats = ['warm', 'first', 'output'] as const satisfies readonly What[]

/** The highest p50 of `1 + 1` in a warm context, in milliseconds. */
const warmMs: Readonly<Record<Isolation, number>> = { gvisor: 8, container: 4 }
/** The highest p50 of the first code of a pooled runtime, in milliseconds. */
const firstMs = 40
const warmRounds = 10
const firstRounds = 15
/** The seconds after which the batch of outputs ends, but not before `leastOutputs` rounds. */
const outputBudgetSecs = 30
const leastOutputs = 3
const floorReason = 'one HTTP answer of a Node server without routes; each request needs one'

/** B14: code in contexts, against the same kernel without a runtime. */
export const b14: Row = {
  id: 'B14',
  title: 'code in a context by the SDK, both classes, against `jupyter_client` with a kernel of the host',
  // The pools of the template follow the demand.
  environment: { HOLT_POOL_MIN: '0' },
  measure: async (stage, options) => {
    try {
      await buildCodeTemplate(stage)
      // The result is awaited here, because the template is deleted when this function returns.
      return await measureAll(stage, options)
    } finally {
      await removeCodeTemplate(stage)
    }
  },
}

async function measureAll(stage: Stage, options: RowOptions): Promise<Findings> {
  const { holt, signal } = stage
  const python = await pythonWithJupyter(repo, signal)
  await using jupyter = await PythonProcess.start<JupyterRound>({ python, program: jupyterProgram }, signal)
  const create = (isolation: Isolation) => holt.runtimes.create({ template: codeTemplate, isolation }, { signal })
  await using gvisor = await create('gvisor')
  await using container = await create('container')
  const measured: Measured = { stage, jupyter, runtimes: { gvisor, container } }
  for (const isolation of isolations) await measured.runtimes[isolation].code.run('1 + 1', { signal })
  const series: SeriesReport[] = []
  for (const what of whats) series.push(...(await batchOf(measured, options, what)))
  return {
    series,
    verdicts: whats.flatMap((what) => isolations.flatMap((isolation) => verdictsOf(series, what, isolation))),
    absent: [],
    notes: [
      'The template is code-interpreter without the packages for science. The host has the same versions.',
      `A round of \`1 + 1\` has ${runsOfRound} runs, one after the other.`,
      'A first run begins when the runtime was created from a pool. Its create is not timed.',
      'The first run of `jupyter_client` is in a kernel that has just started. The start is not timed.',
      'The clients run on the same processors, and are in no CPU time.',
    ],
  }
}

async function batchOf(measured: Measured, options: RowOptions, what: What): Promise<readonly SeriesReport[]> {
  const { stage } = measured
  const isOutput = what === 'output'
  const length = {
    rounds: options.rounds ?? (isOutput ? null : what === 'first' ? firstRounds : warmRounds),
    budgetMs: isOutput ? (options.budgetSecs ?? outputBudgetSecs) * 1000 : Number.POSITIVE_INFINITY,
    leastRounds: isOutput ? leastOutputs : 0,
  }
  const ofHolt = isolations.map((isolation) =>
    what === 'first' ? firstSubject(measured, isolation) : warmSubject(measured, what, isolation),
  )
  const subjects = [...ofHolt, jupyterSubject(measured, what), answersFloor(stage, what)]
  return seriesReports(await stage.batch(`code, ${names[what]}`, subjects, length))
}

function verdictsOf(series: readonly SeriesReport[], what: What, isolation: Isolation): readonly Verdict[] {
  const subject = seriesName(what, isolation)
  const floor = floorOf(series, floorName(what), floorReason)
  const baseline = seriesName(what, 'jupyter_client')
  const ratio = compare(series, { what: subject, subject, baseline, atMost: null })
  const ms = what === 'warm' ? warmMs[isolation] : firstMs
  const bound = what === 'output' ? [] : [medianWithin(series, { what: subject, subject, ms })]
  return [...bound, ratio].map((verdict) => onFloor(verdict, floor))
}
