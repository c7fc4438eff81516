import { setTimeout as sleep } from 'node:timers/promises'
import type { PlainAnswer } from '../support/floors/plain-server.ts'
import { type LoadConnection, type LoadTarget, load, openConnections, timedGet } from '../support/http-load.ts'
import {
  compareFigures,
  compareRates,
  type Findings,
  onFloor,
  type SeriesReport,
  seriesReports,
  type Verdict,
} from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import type { Operation, Subject } from '../support/subject.ts'
import { atOnce, createAndDelete, poolOfMany, sustainedSecs } from './creates-at-once.ts'
import type { Row, RowOptions } from './row.ts'

const connections = 16
const listed = 50
/** The requests on each connection in a round. */
const eachOfRound = { get: 50, list: 10 } as const
const defaultRounds = 10
const underLoadAtMostMs = 20
/** The pause after each answer, in milliseconds. Without it the client would add to the load. */
const pauseMs = 20

type Kind = keyof typeof eachOfRound

const names = {
  get: 'GET by id',
  list: `list of ${listed}`,
} as const
const plainName = (kind: Kind) => `plain server, ${names[kind]}`
const emptyName = (kind: Kind) => `empty HTTP answer, ${names[kind]}`
const underLoad = 'GET by id during creates'
const emptyUnderLoad = 'empty HTTP answer during creates'
const emptyReason = 'an empty HTTP answer of a Node server without routes, to the same client; each request needs one'

/** B10: the cost of reading runtimes, alone and during creates. */
export const b10: Row = {
  id: 'B10',
  title: `GET of a runtime and list of ${listed} by ${connections} connections over HTTP with a key, and GET during B4's creates`,
  environment: poolOfMany,
  measure: async (stage, options) => {
    await using made = await makeRuntimes(stage)
    const holt = stage.asked
    const paths: Readonly<Record<Kind, string>> = {
      get: `/v1/agents/runtime/${made.ids[0]}`,
      list: `/v1/agents/runtime?limit=${listed}`,
    }
    const targetOf = (kind: Kind): LoadTarget => ({ ...holt, path: paths[kind] })
    const sizes = await sameAnswers(stage, { get: targetOf('get'), list: targetOf('list') })
    const asked = { stage, targetOf, sizes }
    await stage.untilPooled('gvisor', atOnce)
    const quiet = [...(await ratesOf(asked, 'get', options)), ...(await ratesOf(asked, 'list', options))]
    return findingsOf([...quiet, ...(await duringCreates(asked, options))])
  },
}

interface Asked {
  readonly stage: Stage
  readonly targetOf: (kind: Kind) => LoadTarget
  /** The size of the body of each answer, in bytes. */
  readonly sizes: Readonly<Record<Kind, number>>
}

function findingsOf(series: readonly SeriesReport[]): Findings {
  const rate = (name: string) => series.find((one) => one.name === name)?.per_second ?? null
  const rates = (['get', 'list'] as const).map((kind) =>
    onFloor(
      compareRates(series, {
        what: `${names[kind]}, ${connections} connections`,
        subject: names[kind],
        baseline: plainName(kind),
        atLeast: kind === 'get' ? 0.4 : 0.2,
      }),
      { name: emptyName(kind), value: rate(emptyName(kind)), why: emptyReason },
    ),
  )
  return {
    series,
    verdicts: [...rates, p99During(series)],
    absent: [],
    notes: [
      'The plain server is Node alone and answers the headers and the bytes that Holt answered, from memory: no key, no routes, no store. The empty answer is its `{}`.',
      `The client is one for all three: ${connections} connections, one request at a time on each, in the bench's own process. It has a part of the processors and of no figure of CPU time.`,
      `The listed runtimes are of class container. During creates one connection asks Holt and the plain server in turn, each ${pauseMs} ms after the last answer.`,
    ],
  }
}

function p99During(series: readonly SeriesReport[]): Verdict {
  const p99 = (name: string) => series.find((one) => one.name === name)?.duration?.p99_ms ?? null
  const verdict = compareFigures({
    what: `${names.get} during creates, p99`,
    unit: 'ms',
    value: p99(underLoad),
    baseline: null,
    target: { of: 'value', at: 'most', bound: underLoadAtMostMs },
  })
  const why = 'p99 of an empty HTTP answer of another process during the same creates; the processors are busy'
  return onFloor(verdict, { name: emptyUnderLoad, value: p99(emptyUnderLoad), why })
}

/** Makes the runtimes of the list. Disposal removes them. */
async function makeRuntimes(stage: Stage): Promise<AsyncDisposable & { readonly ids: readonly string[] }> {
  const stack = new AsyncDisposableStack()
  try {
    const ids: string[] = []
    while (ids.length < listed) {
      const runtime = await stage.holt.runtimes.create({ isolation: 'container' }, { signal: stage.signal })
      ids.push(stack.use(runtime).runtime_id)
    }
    return { ids, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

/** Makes the plain server repeat Holt's answers. Returns the size of each body in bytes. */
async function sameAnswers(
  { plain, signal }: Stage,
  targets: Readonly<Record<Kind, LoadTarget>>,
): Promise<Readonly<Record<Kind, number>>> {
  const answerOf = async ({ port, path, headers }: LoadTarget): Promise<PlainAnswer> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers, signal })
    const body = await answer.text()
    if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${body.slice(0, 200)}`)
    // Node writes these headers by itself.
    const own = ['content-length', 'connection', 'keep-alive', 'date', 'transfer-encoding']
    const kept = [...answer.headers].filter(([name]) => !own.includes(name))
    return { headers: Object.fromEntries(kept), body }
  }
  const [get, list] = [await answerOf(targets.get), await answerOf(targets.list)]
  const { data } = JSON.parse(list.body) as { data: readonly unknown[] }
  if (data.length !== listed) throw new Error(`the list has ${data.length} runtimes, not ${listed}`)
  await plain.answer({ [targets.get.path]: get, [targets.list.path]: list }, signal)
  return { get: Buffer.byteLength(get.body), list: Buffer.byteLength(list.body) }
}

async function ratesOf(
  { stage, targetOf, sizes }: Asked,
  kind: Kind,
  { rounds }: RowOptions,
): Promise<readonly SeriesReport[]> {
  const { port } = stage.plain
  const holt = targetOf(kind)
  using ofHolt = await openConnections(holt.port, connections)
  using ofPlain = await openConnections(port, connections)
  const subject = (name: string, target: LoadTarget, rest: Pick<Subject, 'cpuMs'> & { bytes: number }): Subject => ({
    series: [name],
    perform: () =>
      load(target.port === port ? ofPlain.connections : ofHolt.connections, target, {
        series: name,
        each: eachOfRound[kind],
        bytes: rest.bytes,
      }),
    cpuMs: rest.cpuMs,
    background: false,
  })
  const plainTarget = { port, path: holt.path, headers: holt.headers }
  const subjects = [
    subject(names[kind], holt, { bytes: sizes[kind], cpuMs: stage.holtCpuMs }),
    subject(plainName(kind), plainTarget, { bytes: sizes[kind], cpuMs: stage.rawCpuMs }),
    {
      ...subject(emptyName(kind), { ...plainTarget, path: '/' }, { bytes: 2, cpuMs: stage.rawCpuMs }),
      isFloor: true,
    },
  ]
  const length = { rounds: rounds ?? defaultRounds, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
  return seriesReports(await stage.batch(names[kind], subjects, length))
}

async function duringCreates(
  { stage, targetOf, sizes }: Asked,
  { budgetSecs }: RowOptions,
): Promise<readonly SeriesReport[]> {
  const holt = targetOf('get')
  const empty = { ...holt, port: stage.plain.port, path: '/' }
  using ofHolt = await openConnections(holt.port, 1)
  using ofPlain = await openConnections(empty.port, 1)
  const ask = async (series: string, target: LoadTarget, bytes: number) => {
    const connection = (target === holt ? ofHolt : ofPlain).connections[0] as LoadConnection
    const operation = await timedGet(connection, target, { series, bytes })
    await sleep(pauseMs, undefined, { signal: stage.signal })
    return operation
  }
  const subject: Subject = {
    series: [underLoad, emptyUnderLoad],
    prepare: () => stage.untilPooled('gvisor', atOnce),
    perform: async () => {
      const until = performance.now() + 1000 * (budgetSecs ?? sustainedSecs)
      const questions = async () => {
        const operations: Operation[] = []
        while (performance.now() < until) {
          operations.push(await ask(underLoad, holt, sizes.get))
          operations.push(await ask(emptyUnderLoad, empty, 2))
        }
        return operations
      }
      const [operations, creates] = await Promise.all([questions(), createAndDelete(stage, until)])
      const failed = creates.find(({ error }) => error !== null)
      if (failed !== undefined) throw new Error(`a create beside the questions failed: ${failed.error}`)
      return operations
    },
    // The CPU time would include the creates.
    cpuMs: () => null,
    background: false,
  }
  const length = { rounds: 1, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
  return seriesReports(await stage.batch(underLoad, [subject], length))
}
