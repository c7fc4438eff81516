import { join } from 'node:path'
import type { FileSource, Isolation, Runtime } from '@holt/sdk'
import { copyInKernel } from '../support/floors/kernel-copy.ts'
import { measuredFloor, msOf } from '../support/floors/subjects.ts'
import { makeLargeFile } from '../support/large-file.ts'
import { PipeServer } from '../support/pipe-server.ts'
import { compare, floorOf, onFloor, type SeriesReport, seriesReports, type Verdict } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Operation, type Subject, timed } from '../support/subject.ts'
import { type Row, type RowOptions, withoutPool } from './row.ts'

const MiB = 2 ** 20
const largeBytes = 1024 * MiB
const smallBytes = 4096
/** The small files of a round, one after the other. */
const smallOfRound = 50

/** The seconds after which a batch of slow rounds ends, but not before `leastRounds`. */
const budgetSecs = 30
const leastRounds = 3

/**
 * The allowed ratios to piping alone. Those of a container are half the throughput, and 0.3 of the
 * rate.
 */
const atMost = {
  gvisor: { bulk: null, small: 2 },
  container: { bulk: 2, small: 3.33 },
} as const

/** The directory of the baseline's files, on the file system of the runtimes' disks. */
const pipeDir = new URL('../../.holt/', import.meta.url).pathname

/** B6: transfers into and out of a runtime. */
export const b6: Row = {
  id: 'B6',
  title: 'PUT and GET of 1 GiB and of 4 KiB by the SDK over HTTP with a key, against a Node server that only pipes',
  environment: withoutPool,
  measure: async (stage, options) => {
    await using pipe = await PipeServer.start(pipeDir, stage.signal)
    await using kernel = await makeLargeFile(largeSource.stream(0) as AsyncIterable<Uint8Array>)
    const series: SeriesReport[] = []
    for (const isolation of ['gvisor', 'container'] as const)
      series.push(...(await transfersOf({ stage, options, isolation, pipe, kernelDir: kernel.dir })))
    return {
      series,
      verdicts: (['gvisor', 'container'] as const).flatMap((isolation) => verdictsOf(series, isolation)),
      absent: [],
      notes: [
        "The pipe server has no key, no isolation, and the host's own file system; it writes beside the file and renames, as Holt does. Both write to the page cache, neither syncs.",
        `4 KiB: one client, ${smallOfRound} files a round, one after the other. The client runs on the same processors and is in neither's CPU time.`,
        'The two classes are measured one after the other, each against the pipe server in turn.',
      ],
    }
  },
}

const kinds = ['PUT 1 GiB', 'GET 1 GiB', 'PUT 4 KiB', 'GET 4 KiB'] as const
type Kind = (typeof kinds)[number]

interface Transfers {
  readonly stage: Stage
  readonly options: RowOptions
  readonly isolation: Isolation
  readonly pipe: PipeServer
  /** The directory with the large file of the floor. */
  readonly kernelDir: string
}

async function transfersOf(transfers: Transfers): Promise<readonly SeriesReport[]> {
  const { stage, options, isolation, pipe, kernelDir } = transfers
  const { signal } = stage
  await using runtime = await stage.holt.runtimes.create({ template: 'base-medium', isolation }, { signal })
  const ends = { holt: holtEnd(runtime, signal), pipe: pipeEnd(pipe, signal) }
  // Reads need the file, also in batches without writes of small files.
  for (const end of Object.values(ends)) await end.put('small', smallSource)
  const series: SeriesReport[] = []
  for (const kind of kinds) {
    const isLarge = kind.endsWith('GiB')
    const budgetMs = isLarge ? (options.budgetSecs ?? budgetSecs) * 1000 : Number.POSITIVE_INFINITY
    const length = { rounds: options.rounds ?? (isLarge ? null : 20), budgetMs, leastRounds: isLarge ? leastRounds : 0 }
    const subjects = [
      subjectOf(kind, nameOf(kind, isolation), ends.holt, stage.holtCpuMs),
      subjectOf(kind, nameOf(`pipe, ${kind}`, isolation), ends.pipe, stage.rawCpuMs),
      floorSubject(stage, { kind, series: floorName(kind, isolation), dir: kernelDir }),
    ]
    series.push(...seriesReports(await stage.batch(`${kind}, ${isolation}`, subjects, length)))
  }
  return series
}

function verdictsOf(series: readonly SeriesReport[], isolation: Isolation): readonly Verdict[] {
  return kinds.map((kind) => {
    const verdict = compare(series, {
      what: nameOf(kind, isolation),
      subject: nameOf(kind, isolation),
      baseline: nameOf(`pipe, ${kind}`, isolation),
      atMost: atMost[isolation][kind.endsWith('GiB') ? 'bulk' : 'small'],
    })
    return onFloor(verdict, floorOf(series, floorName(kind, isolation), floorReason(kind)))
  })
}

function floorReason(kind: Kind): string {
  if (kind === 'PUT 1 GiB')
    return '`splice` from a file in the page cache over a connection on loopback into a file; the bytes cross one connection and are written once'
  if (kind === 'GET 1 GiB')
    return '`splice` from a file in the page cache over a connection on loopback to nowhere; the bytes cross one connection'
  return 'one HTTP answer of a Node server without routes; each request needs one'
}

function floorSubject(stage: Stage, { kind, series, dir }: { kind: Kind; series: string; dir: string }): Subject {
  const { plain, signal } = stage
  return measuredFloor(stage, series, async () => {
    if (kind.endsWith('GiB')) {
      const destination = kind.startsWith('PUT') ? join(dir, 'copy') : '/dev/null'
      return copyInKernel(join(dir, 'large'), destination, signal)
    }
    const times: number[] = []
    for (let done = 0; done < smallOfRound; done += 1) times.push(await msOf(() => plain.get('/', signal)))
    return times
  })
}

function floorName(kind: Kind, isolation: Isolation): string {
  return nameOf(kind.endsWith('GiB') ? `kernel, ${kind}` : `HTTP answer, ${kind}`, isolation)
}

function nameOf(kind: string, isolation: Isolation): string {
  return `${kind}, ${isolation}`
}

/** One side of the comparison. */
interface End {
  put(name: string, source: FileSource): Promise<unknown>
  get(name: string): Promise<ReadableStream<Uint8Array>>
}

function holtEnd({ files }: Runtime, signal: AbortSignal): End {
  const at = (name: string) => `/bench/${name}`
  return {
    put: (name, source) => files.write(at(name), source, { signal }),
    get: (name) => files.readStream(at(name), { signal }),
  }
}

function pipeEnd(pipe: PipeServer, signal: AbortSignal): End {
  return {
    put: (name, source) => pipe.put(name, ReadableStream.from(source.stream(0) as AsyncIterable<Uint8Array>), signal),
    get: (name) => pipe.get(name, signal),
  }
}

function subjectOf(kind: Kind, series: string, end: End, cpuMs: Subject['cpuMs']): Subject {
  const isLarge = kind.endsWith('GiB')
  const [name, source] = isLarge ? ['large', largeSource] : ['small', smallSource]
  const operation = kind.startsWith('PUT')
    ? () => end.put(name, source)
    : async () => expectBytes(await end.get(name), source.size)
  const perform = async (): Promise<readonly Operation[]> => {
    const operations: Operation[] = []
    for (let done = 0; done < (isLarge ? 1 : smallOfRound); done += 1) operations.push(await timed(series, operation))
    return operations
  }
  return { series: [series], perform, cpuMs, background: false }
}

async function expectBytes(stream: ReadableStream<Uint8Array>, size: number): Promise<void> {
  let bytes = 0
  for await (const chunk of stream) bytes += chunk.length
  if (bytes !== size) throw new Error(`${bytes} bytes came, not ${size}`)
}

const block = Buffer.alloc(MiB, 'some bytes that are not all the same; ')

const largeSource: FileSource = { size: largeBytes, stream: (start) => repeated(largeBytes - start) }
const smallSource: FileSource = { size: smallBytes, stream: (start) => repeated(smallBytes - start) }

async function* repeated(bytes: number): AsyncGenerator<Uint8Array> {
  for (let left = bytes; left > 0; left -= block.length) yield block.subarray(0, Math.min(left, block.length))
}
