import { join } from 'node:path'
import { copyInKernel } from '../support/floors/kernel-copy.ts'
import { measuredFloor, msOf } from '../support/floors/subjects.ts'
import { makeLargeFile } from '../support/large-file.ts'
import { type ClientRound, type PythonWay, pythonWithClient, startPythonClient } from '../support/python-client.ts'
import type { PythonProcess } from '../support/python-process.ts'
import { compare, floorOf, onFloor, type SeriesReport, seriesReports, type Verdict } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Operation, reasonOf, type Subject } from '../support/subject.ts'
import { type Row, type RowOptions, withoutPool } from './row.ts'

const MiB = 2 ** 20
const uploadMiB = 1024
/** The commands of a round, one after the other. 20 rounds are a thousand. */
const commandsOfRound = 50
const commandRounds = 20
/** The seconds after which the batch of uploads ends, but not before `leastUploads` rounds. */
const budgetSecs = 30
const leastUploads = 3

const ways = ['sync', 'async', 'raw'] as const satisfies readonly PythonWay[]
const whats = ['commands', 'upload'] as const
type What = (typeof whats)[number]

/** The allowed ratios to plain requests from the same process. */
const atMost: Readonly<Record<What, number>> = { commands: 1.3, upload: 1.3 }
const repo = new URL('../../', import.meta.url).pathname

/** B13: the overhead of the Python client over plain HTTP requests. */
export const b13: Row = {
  id: 'B13',
  title: 'commands and an upload of 1 GiB by the Python client, sync and async, against plain http.client',
  environment: withoutPool,
  measure: async (stage, options) => {
    const { signal } = stage
    await using sent = await makeLargeFile(uploadContent())
    const isolation = 'container'
    await using runtime = await stage.holt.runtimes.create({ template: 'base-medium', isolation }, { signal })
    const { port, headers } = stage.asked
    const key = headers.authorization?.replace('Bearer ', '') ?? ''
    await using client = await startPythonClient({
      python: await pythonWithClient(repo, signal),
      service: { HOLT_URL: `http://127.0.0.1:${port}`, HOLT_API_KEY: key },
      runtimeId: runtime.runtime_id,
      file: sent.path,
      signal,
    })
    const series: SeriesReport[] = []
    for (const what of whats) series.push(...(await batchOf({ stage, options, client, dir: sent.dir, what })))
    return {
      series,
      verdicts: whats.flatMap((what) => verdictsOf(series, what)),
      absent: [],
      notes: [
        `One Python process measures all three ways in turn, over one connection each, in class ${isolation}.`,
        `A round of commands has ${commandsOfRound}, one after the other. The uploaded file is in the page cache.`,
        'The client runs on the same processors, and is in no CPU time.',
      ],
    }
  },
}

interface Batch {
  readonly stage: Stage
  readonly options: RowOptions
  readonly client: PythonProcess<ClientRound>
  /** The directory with the file to send. */
  readonly dir: string
  readonly what: What
}

async function batchOf(batch: Batch): Promise<readonly SeriesReport[]> {
  const { stage, options, what } = batch
  const isUpload = what === 'upload'
  const length = {
    rounds: options.rounds ?? (isUpload ? null : commandRounds),
    budgetMs: isUpload ? (options.budgetSecs ?? budgetSecs) * 1000 : Number.POSITIVE_INFINITY,
    leastRounds: isUpload ? leastUploads : 0,
  }
  const subjects = [...ways.map((way) => subjectOf(batch, way)), floorSubject(batch)]
  return seriesReports(await stage.batch(`Python, ${what}`, subjects, length))
}

function verdictsOf(series: readonly SeriesReport[], what: What): readonly Verdict[] {
  const floor = floorOf(series, floorName(what), floorReasons[what])
  return (['sync', 'async'] as const).map((way) =>
    onFloor(
      compare(series, {
        what: seriesName(way, what),
        subject: seriesName(way, what),
        baseline: seriesName('raw', what),
        atMost: atMost[what],
      }),
      floor,
    ),
  )
}

const floorReasons: Readonly<Record<What, string>> = {
  commands: 'one HTTP answer of a Node server without routes; each request needs one',
  upload:
    '`splice` from a file in the page cache over a connection on loopback into a file; the bytes cross one connection and are written once',
}

function subjectOf({ stage, client, what }: Batch, way: PythonWay): Subject {
  const series = seriesName(way, what)
  const count = what === 'upload' ? 1 : commandsOfRound
  const perform = async (): Promise<readonly Operation[]> => {
    try {
      const times = await client.measure({ way, what, count }, stage.signal)
      return times.map((ms) => ({ series, ms, error: null }))
    } catch (error) {
      return [{ series, ms: 0, error: reasonOf(error) }]
    }
  }
  return { series: [series], perform, cpuMs: stage.holtCpuMs, background: false }
}

function floorSubject({ stage, dir, what }: Batch): Subject {
  return measuredFloor(stage, floorName(what), async () => {
    if (what === 'upload') return copyInKernel(join(dir, 'large'), join(dir, 'copy'), stage.signal)
    const times: number[] = []
    for (let done = 0; done < commandsOfRound; done += 1)
      times.push(await msOf(() => stage.plain.get('/', stage.signal)))
    return times
  })
}

function seriesName(way: PythonWay, what: What): string {
  const operation = what === 'upload' ? 'upload of 1 GiB' : 'command'
  return way === 'raw' ? `http.client, ${operation}` : `Python ${way}, ${operation}`
}

function floorName(what: What): string {
  return what === 'upload' ? 'kernel, upload of 1 GiB' : 'HTTP answer'
}

/** Yields the content of the file to send. */
function* uploadContent(): Generator<Uint8Array> {
  const block = Buffer.alloc(MiB, 'some bytes that are not all the same; ')
  for (let sent = 0; sent < uploadMiB; sent += 1) yield block
}
