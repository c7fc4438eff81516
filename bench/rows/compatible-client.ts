import type { Runtime } from '@holt/sdk'
import { type E2bClient, type E2bSandbox, openE2bClient } from '../support/e2b-client.ts'
import { commandFloor, floorSubject, reasons } from '../support/floors/subjects.ts'
import { compare, type Findings, floorOf, onFloor, type SeriesReport, seriesReports } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Operation, reasonOf, type Subject, timed } from '../support/subject.ts'
import { type Row, type RowOptions, withPoolOf } from './row.ts'

const pooled = 2
const isolation = 'gvisor'
/** The allowed ratio to Holt's own client. */
const atMost = 1.3
const MiB = 2 ** 20
/** The command line of E2B's clients runs in a login shell. */
const shell = ['/bin/bash', '-l', '-c', 'true']
const firstParts = ['create', 'create + command'] as const
const laterParts = ['command', 'write 1 MiB', 'read 1 MiB'] as const
const clients = ['E2B client', 'Holt client'] as const

/** B16: the cost of the compatible surface, seen by E2B's client. */
export const b16: Row = {
  id: 'B16',
  title: "create, first command, 100 commands, write and read 1 MiB by E2B's client, against Holt's own",
  environment: { ...withPoolOf(isolation, pooled), HOLT_E2B: 'on' },
  measure: async (stage, options) => {
    const e2b = await openE2bClient(stage.holt, stage.asked.port)
    const series = [...(await firstUse(stage, options, e2b)), ...(await laterUse(stage, options, e2b))]
    return { series, verdicts: verdictsOf(series), absent: [], notes }
  },
}

const notes = [
  'Both clients are TypeScript in one process, over one address without TLS, and run `true` in a login shell.',
  `Each create takes one of ${pooled} pooled runtimes of class ${isolation}; deleting and refilling are not timed.`,
  'The clients run on the same processors, and are in no CPU time.',
]

/** Measures a create and the first command in the new runtime. */
async function firstUse(stage: Stage, options: RowOptions, e2b: E2bClient): Promise<readonly SeriesReport[]> {
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
  const subjects = [
    firstSubject(stage, 'E2B client', {
      create: () => e2b.create(),
      run: async (sandbox) => (await sandbox.commands.run('true')).exitCode,
      remove: async (sandbox) => void (await sandbox.kill()),
    }),
    firstSubject(stage, 'Holt client', {
      create: () => stage.holt.runtimes.create({ isolation }, { signal: stage.signal }),
      run: async (runtime) =>
        (await runtime.commands.run(shell, { user: 'user', signal: stage.signal })).exit_code ?? -1,
      remove: (runtime) => runtime.delete(),
    }),
    floor,
    withCommand,
  ].map((subject) => ({ ...subject, prepare }))
  const length = { rounds: options.rounds, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
  return seriesReports(await stage.batch('create and first command', subjects, length))
}

/** The same steps by one of the clients. */
interface Steps<Made> {
  readonly create: () => Promise<Made>
  readonly run: (made: Made) => Promise<number>
  readonly remove: (made: Made) => Promise<void>
}

function firstSubject<Made>(stage: Stage, client: Client, { create, run, remove }: Steps<Made>): Subject {
  const [alone, withCommand] = firstParts.map((part) => seriesName(client, part))
  let made: Made | null = null
  return {
    series: [alone ?? '', withCommand ?? ''],
    perform: async () => {
      const startedAt = performance.now()
      const operations: Operation[] = []
      const note = (error: string | null) => {
        const series = (operations.length === 0 ? alone : withCommand) ?? ''
        operations.push({ series, ms: performance.now() - startedAt, error })
      }
      try {
        made = await create()
        note(null)
        const code = await run(made)
        note(code === 0 ? null : `true ended with ${code}`)
      } catch (error) {
        while (operations.length < firstParts.length) note(reasonOf(error))
      }
      return operations
    },
    tidy: async () => {
      if (made !== null) await remove(made)
      made = null
    },
    cpuMs: stage.holtCpuMs,
    background: true,
  }
}

/** Measures commands and files of a runtime that runs. */
async function laterUse(stage: Stage, options: RowOptions, e2b: E2bClient): Promise<readonly SeriesReport[]> {
  const { signal } = stage
  await using raw = await stage.openRawRunner(isolation)
  await raw.writeBundle('idle', ['/bin/sleep', '7200'])
  await raw.createAndStart('idle')
  await using runtime = await stage.holt.runtimes.create({ isolation }, { signal })
  const sandbox = await e2b.create()
  try {
    const command = { series: floors.command.name, raw, id: 'idle', clients: 1, each: 1 }
    const subjects = [
      laterSubject(stage, 'E2B client', byE2b(sandbox)),
      laterSubject(stage, 'Holt client', byHolt(runtime, signal)),
      commandFloor(stage, command),
      floorSubject(stage, floors.file.name, () => stage.plain.get('/', signal)),
    ]
    const length = { rounds: options.rounds ?? 100, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
    return seriesReports(await stage.batch('commands and files', subjects, length))
  } finally {
    await sandbox.kill()
  }
}

/** The operations of a client in a running runtime. Each throws if the result is wrong. */
type Later = Readonly<Record<(typeof laterParts)[number], () => Promise<void>>>

const path = '/home/user/file'
const content = Buffer.alloc(MiB, 'some bytes that are not all the same; ')

function byE2b({ commands, files }: E2bSandbox): Later {
  const bytes = new Uint8Array(content).buffer
  return {
    command: async () => void (await commands.run('true')),
    'write 1 MiB': async () => void (await files.write(path, bytes)),
    'read 1 MiB': async () => requireContent(await files.read(path, { format: 'bytes' })),
  }
}

function byHolt({ commands, files }: Runtime, signal: AbortSignal): Later {
  return {
    command: async () => {
      const { exit_code: code } = await commands.run(shell, { user: 'user', signal })
      if (code !== 0) throw new Error(`true ended with ${code}`)
    },
    'write 1 MiB': async () => void (await files.write(path, content, { signal })),
    'read 1 MiB': async () => requireContent(await files.read(path, { signal })),
  }
}

function requireContent(bytes: Uint8Array): void {
  if (!content.equals(bytes)) throw new Error(`${bytes.length} bytes came back that were not written`)
}

function laterSubject(stage: Stage, client: Client, later: Later): Subject {
  return {
    series: laterParts.map((part) => seriesName(client, part)),
    perform: async () => {
      const operations: Operation[] = []
      for (const part of laterParts) operations.push(await timed(seriesName(client, part), later[part]))
      return operations
    },
    cpuMs: stage.holtCpuMs,
    background: false,
  }
}

type Client = (typeof clients)[number]
type Part = (typeof firstParts)[number] | (typeof laterParts)[number]

function seriesName(client: Client, part: Part): string {
  return `${client}, ${part}`
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
  return [...firstParts, ...laterParts].map((part) => {
    const { name, why } = floors[floorOfPart[part]]
    const [subject, baseline] = clients.map((client) => seriesName(client, part))
    const asked = { what: part, subject: subject ?? '', baseline: baseline ?? '', atMost }
    return onFloor(compare(series, asked), floorOf(series, name, why))
  })
}
