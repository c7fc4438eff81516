import { type FakeHost, startFleetOfFakes } from '../support/fleet-of-fakes.ts'
import { type LoadTarget, load, openConnections } from '../support/http-load.ts'
import { compareFigures, floorOf, onFloor, rateAtLeast, type SeriesReport, seriesReports } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Operation, type Subject, timed } from '../support/subject.ts'
import { type Row, type RowOptions, withoutPool } from './row.ts'

const size = 3
/** The requests of a round. */
const each = 100
const defaultRounds = 15
/** The clients that create at each host at once. */
const clientsOfHost = 8
const createSecs = 10
/** The file that is asked about. */
const file = '/workspace/asked'

const direct = 'stat of a file, at the owner'
const forwarded = 'stat of a file, through another host'
const empty = 'empty HTTP answer'
const creates = `creates by ${clientsOfHost} clients at each of ${size} hosts`

/** B17: the cost of a forward between hosts, and the creates of a fleet. */
export const b17: Row = {
  id: 'B17',
  title: `a request through another host of a fleet, and creates by a fleet of ${size}, with fake engines and PostgreSQL`,
  environment: withoutPool,
  measure: async (stage, options) => {
    await using fleet = await startFleetOfFakes(size)
    const series = [
      ...(await forwards(stage, fleet.hosts, options)),
      ...(await createRate(stage, fleet.hosts, options)),
    ]
    const p50 = (name: string) => series.find((one) => one.name === name)?.duration?.p50_ms ?? null
    const [one, other] = [p50(direct), p50(forwarded)]
    return {
      series,
      verdicts: [
        onFloor(
          compareFigures({
            what: 'cost of a forward',
            unit: 'ms',
            value: one === null || other === null ? null : other - one,
            baseline: null,
            target: { of: 'value', at: 'most', bound: 1 },
          }),
          floorOf(
            series,
            empty,
            'an empty HTTP answer of a Node server without routes; the other host needs one request',
          ),
        ),
        rateAtLeast(series, { what: 'creates of one project', subject: creates, perSecond: 200 }),
      ],
      absent: [],
      notes: [
        'All hosts, PostgreSQL and the client share this machine. The engines are fakes, so a create is the work of the service and of the database.',
        'The cost of a forward is the difference of the two p50, measured in turn over one connection each.',
      ],
    }
  },
}

/** Asks the owner of a runtime, and another host, in turn. */
async function forwards(
  stage: Stage,
  hosts: readonly FakeHost[],
  { rounds }: RowOptions,
): Promise<readonly SeriesReport[]> {
  const [owner, entry] = hosts as [FakeHost, FakeHost]
  const id = await create(owner)
  await putFile(owner, id)
  const target = ({ port, key }: FakeHost): LoadTarget => ({
    port,
    path: `/v1/agents/runtime/${id}/files/stat?path=${file}`,
    headers: { authorization: `Bearer ${key}` },
  })
  const plain: LoadTarget = { port: stage.plain.port, path: '/', headers: {} }
  await using opened = new AsyncDisposableStack()
  const subject = async (series: string, asked: LoadTarget): Promise<Subject> => {
    const { connections } = opened.use(await openConnections(asked.port, 1))
    const [first] = connections
    const bytes = (await first?.get(asked))?.length ?? 0
    return {
      series: [series],
      perform: () => load(connections, asked, { series, each, bytes }),
      cpuMs: () => null,
      background: false,
    }
  }
  const subjects = [
    await subject(direct, target(owner)),
    await subject(forwarded, target(entry)),
    { ...(await subject(empty, plain)), isFloor: true },
  ]
  const length = { rounds: rounds ?? defaultRounds, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
  return seriesReports(await stage.batch('forwards', subjects, length))
}

/** Creates at all hosts at once, for some seconds. */
async function createRate(
  stage: Stage,
  hosts: readonly FakeHost[],
  { budgetSecs }: RowOptions,
): Promise<readonly SeriesReport[]> {
  const client = async (host: FakeHost, until: number) => {
    const made: Operation[] = []
    while (performance.now() < until) made.push(await timed(creates, () => create(host)))
    return made
  }
  const subject: Subject = {
    series: [creates],
    perform: async () => {
      const until = performance.now() + 1000 * (budgetSecs ?? createSecs)
      const clients = hosts.flatMap((host) => Array.from({ length: clientsOfHost }, () => client(host, until)))
      return (await Promise.all(clients)).flat()
    },
    cpuMs: () => null,
    background: false,
  }
  const length = { rounds: 1, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
  return seriesReports(await stage.batch(creates, [subject], length))
}

/** Makes a runtime and returns its id. */
async function create({ url, key }: FakeHost): Promise<string> {
  const answer = await fetch(`${url}/v1/agents/runtime`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{}',
  })
  const text = await answer.text()
  if (answer.status !== 201) throw new Error(`a create was answered with ${answer.status}: ${text.slice(0, 200)}`)
  return (JSON.parse(text) as { runtime_id: string }).runtime_id
}

async function putFile({ url, key }: FakeHost, id: string): Promise<void> {
  const answer = await fetch(`${url}/v1/agents/runtime/${id}/files/content?path=${file}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${key}` },
    body: 'a file',
  })
  if (answer.status !== 201) throw new Error(`a file was answered with ${answer.status}: ${await answer.text()}`)
}
