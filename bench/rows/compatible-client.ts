import { makeE2bVariables, openE2bClient } from '../support/e2b-client.ts'
import { commandFloor, floorSubject, reasons } from '../support/floors/subjects.ts'
import { startE2bPython, startHoltPython } from '../support/python-client.ts'
import { compare, type Findings, floorOf, onFloor, type SeriesReport, seriesReports } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Subject, timed } from '../support/subject.ts'
import {
  clientsByLanguage,
  firstParts,
  firstSubjects,
  firstSubjectsInPython,
  isolation,
  laterParts,
  laterSubjects,
  laterSubjectsInPython,
  type Part,
  type PythonClients,
  seriesName,
} from './compatible-subjects.ts'
import { type Row, type RowOptions, withPoolOf } from './row.ts'

const pooled = 2
/** The allowed ratio to Holt's own client. */
const atMost = 1.3
const repo = new URL('../../', import.meta.url).pathname

/** B16: the cost of the compatible surface, seen by E2B's clients. */
export const b16: Row = {
  id: 'B16',
  title: "create, first command, 100 commands, write and read 1 MiB by E2B's clients, against Holt's own",
  environment: { ...withPoolOf(isolation, pooled), HOLT_E2B: 'on' },
  measure: async (stage, options) => {
    const { asked, holt, signal } = stage
    const variables = await makeE2bVariables(holt, asked.port)
    const key = asked.headers.authorization?.replace('Bearer ', '') ?? ''
    const service = { HOLT_URL: `http://127.0.0.1:${asked.port}`, HOLT_API_KEY: key }
    await using e2bPython = await startE2bPython(variables, signal)
    await using holtPython = await startHoltPython({ repo, service }, signal)
    const clients: Clients = {
      e2b: await openE2bClient(variables),
      python: { 'E2B client in Python': e2bPython, 'Holt client in Python': holtPython },
    }
    const series = [...(await firstUse(stage, options, clients)), ...(await laterUse(stage, options, clients))]
    return { series, verdicts: verdictsOf(series), absent: [], notes }
  },
}

interface Clients {
  readonly e2b: Awaited<ReturnType<typeof openE2bClient>>
  readonly python: PythonClients
}

const notes = [
  'All clients use one address without TLS, and run `true` in a login shell. Both of TypeScript are in one process.',
  'Each client in Python is synchronous, has a process of its own, and measures the time itself.',
  `Each create takes one of ${pooled} pooled runtimes of class ${isolation}; deleting and refilling are not timed.`,
  'The clients run on the same processors, and are in no CPU time.',
]

/** Measures a create and the first command in the new runtime. */
async function firstUse(stage: Stage, options: RowOptions, { e2b, python }: Clients): Promise<readonly SeriesReport[]> {
  await using raw = await stage.openRawRunner(isolation)
  const prepare = () => stage.untilPooled(isolation, pooled)
  const floor = floorSubject(stage, floors.create.name, () => stage.plain.writeDurably(stage.signal))
  const withCommand: Subject = {
    series: [floors.withCommand.name],
    perform: async () => {
      const durable = await timed(floors.withCommand.name, () => stage.plain.writeDurably(stage.signal))
      const answer = await timed(floors.withCommand.name, () => stage.plain.get('/', stage.signal))
      const [spawn = Number.NaN] = await raw.spawnsInNew('spawns', { clients: 1, each: 1 })
      return [{ ...durable, ms: durable.ms + answer.ms + spawn }]
    },
    cpuMs: () => null,
    background: false,
    isFloor: true,
  }
  const subjects = [...firstSubjects(stage, e2b), ...firstSubjectsInPython(stage, python), floor, withCommand].map(
    (subject) => ({ ...subject, prepare }),
  )
  const length = { rounds: options.rounds, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
  return seriesReports(await stage.batch('create and first command', subjects, length))
}

/** Measures commands and files of a runtime that runs, one for each client. */
async function laterUse(stage: Stage, options: RowOptions, { e2b, python }: Clients): Promise<readonly SeriesReport[]> {
  const { signal } = stage
  await using raw = await stage.openRawRunner(isolation)
  await raw.writeBundle('idle', ['/bin/sleep', '7200'])
  await raw.createAndStart('idle')
  await using runtime = await stage.holt.runtimes.create({ isolation }, { signal })
  const sandbox = await e2b.create()
  const ofPython = Object.values(python)
  try {
    for (const client of ofPython) await client.measure({ step: 'first' }, signal)
    const command = { series: floors.command.name, raw, id: 'idle', clients: 1, each: 1 }
    const subjects = [
      ...laterSubjects(stage, sandbox, runtime),
      ...laterSubjectsInPython(stage, python),
      commandFloor(stage, command),
      floorSubject(stage, floors.file.name, () => stage.plain.get('/', signal)),
    ]
    const length = { rounds: options.rounds ?? 100, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
    const reports = seriesReports(await stage.batch('commands and files', subjects, length))
    for (const client of ofPython) await client.measure({ step: 'remove' }, signal)
    return reports
  } finally {
    await sandbox.kill()
  }
}

const floors = {
  create: { name: 'durable write', why: reasons.durable },
  withCommand: {
    name: 'durable write, HTTP answer, spawn inside',
    why: `the durable write, an empty HTTP answer, and ${reasons.spawn}`,
  },
  command: { name: 'HTTP answer and spawn inside', why: `an empty HTTP answer, and ${reasons.spawn}` },
  file: { name: 'HTTP answer', why: 'one HTTP answer of a Node server without routes; each request needs one' },
} as const

const floorOfPart: Readonly<Record<Part, keyof typeof floors>> = {
  create: 'create',
  'create + command': 'withCommand',
  command: 'command',
  'write 1 MiB': 'file',
  'read 1 MiB': 'file',
}

function verdictsOf(series: readonly SeriesReport[]): Findings['verdicts'] {
  return Object.entries(clientsByLanguage).flatMap(([language, [e2b, own]]) =>
    [...firstParts, ...laterParts].map((part) => {
      const { name, why } = floors[floorOfPart[part]]
      const asked = { subject: seriesName(e2b, part), baseline: seriesName(own, part), atMost }
      return onFloor(compare(series, { what: `${language}, ${part}`, ...asked }), floorOf(series, name, why))
    }),
  )
}
