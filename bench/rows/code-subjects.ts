import type { Isolation, Runtime } from '@holt/sdk'
import { measuredFloor, msOf } from '../support/floors/subjects.ts'
import type { PythonProcess } from '../support/python-process.ts'
import type { Stage } from '../support/stage.ts'
import { type Operation, reasonOf, type Subject, timed } from '../support/subject.ts'
import { codeTemplate } from './code-template.ts'

/** The runs of a warm round, one after the other. */
export const runsOfRound = 20
const outputCharacters = 20 * 2 ** 20
const outputCode = "for _ in range(20 * 1024): print('x' * 1023)"

/** The kinds of runs. */
export type What = 'warm' | 'first' | 'output'

/** The names of the kinds of runs. */
export const names: Readonly<Record<What, string>> = {
  warm: '1 + 1 in a warm context',
  first: 'first 1 + 1',
  output: '20 MiB of output',
}

/** A round of `jupyter_client`. */
export interface JupyterRound {
  readonly what: What
  readonly count: number
}

/** The parts of a measurement. */
export interface Measured {
  readonly stage: Stage
  readonly jupyter: PythonProcess<JupyterRound>
  /** A runtime of each class with a used context. */
  readonly runtimes: Readonly<Record<Isolation, Runtime>>
}

/** Returns the subject of code in a runtime that has run some. */
export function warmSubject({ stage, runtimes }: Measured, what: What, isolation: Isolation): Subject {
  const series = seriesName(what, isolation)
  const perform = async () => {
    const operations: Operation[] = []
    for (let done = 0; done < countOf(what); done += 1)
      operations.push(await timed(series, () => runCode(runtimes[isolation], what, stage.signal)))
    return operations
  }
  return { series: [series], perform, cpuMs: stage.holtCpuMs, background: false }
}

/** Returns the subject of the first code of a runtime from a pool. */
export function firstSubject({ stage }: Measured, isolation: Isolation): Subject {
  const series = seriesName('first', isolation)
  const { holt, signal } = stage
  let runtime: Runtime | null = null
  return {
    series: [series],
    prepare: async () => {
      await stage.untilPooled(isolation, 1, codeTemplate)
      runtime = await holt.runtimes.create({ template: codeTemplate, isolation }, { signal })
    },
    perform: async () => [
      await timed(series, async () => {
        if (runtime === null) throw new Error('there is no runtime')
        await runCode(runtime, 'first', signal)
      }),
    ],
    tidy: async () => {
      await runtime?.delete()
      runtime = null
    },
    cpuMs: stage.holtCpuMs,
    // The pool is filled beside the run. That work belongs to the create, which is not measured.
    background: false,
  }
}

async function runCode(runtime: Runtime, what: What, signal: AbortSignal): Promise<void> {
  if (what !== 'output') {
    const { status, results } = await runtime.code.run('1 + 1', { signal })
    if (status !== 'ok' || results[0]?.data['text/plain'] !== '2') throw new Error(`1 + 1 ended as ${status}`)
    return
  }
  let characters = 0
  for await (const item of runtime.code.stream(outputCode, { signal }))
    if (item.type === 'stdout') characters += item.text.length
  if (characters !== outputCharacters) throw new Error(`${characters} characters arrived`)
}

/** Returns the subject of the kernel of the host. */
export function jupyterSubject({ stage, jupyter }: Measured, what: What): Subject {
  const series = seriesName(what, 'jupyter_client')
  const perform = async (): Promise<readonly Operation[]> => {
    try {
      const times = await jupyter.measure({ what, count: countOf(what) }, stage.signal)
      return times.map((ms) => ({ series, ms, error: null }))
    } catch (error) {
      return [{ series, ms: 0, error: reasonOf(error) }]
    }
  }
  return { series: [series], perform, cpuMs: stage.rawCpuMs, background: false }
}

/** Returns the floor of a kind of runs. */
export function answersFloor(stage: Stage, what: What): Subject {
  return measuredFloor(stage, floorName(what), async () => {
    const times: number[] = []
    for (let done = 0; done < countOf(what); done += 1) times.push(await msOf(() => stage.plain.get('/', stage.signal)))
    return times
  })
}

function countOf(what: What): number {
  return what === 'warm' ? runsOfRound : 1
}

/** Returns the name of the series of a kind of runs by one subject. */
export function seriesName(what: What, by: Isolation | 'jupyter_client'): string {
  return `${names[what]}, ${by}`
}

/** Returns the name of the series of a floor. */
export function floorName(what: What): string {
  return `HTTP answer, beside ${names[what]}`
}
