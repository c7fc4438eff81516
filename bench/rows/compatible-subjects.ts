import type { Runtime } from '@holt/sdk'
import type { E2bClient, E2bSandbox } from '../support/e2b-client.ts'
import type { SandboxStep } from '../support/python-client.ts'
import type { PythonProcess } from '../support/python-process.ts'
import type { Stage } from '../support/stage.ts'
import { type Operation, reasonOf, type Subject, timed } from '../support/subject.ts'

/** The class of isolation of all runtimes of the row. */
export const isolation = 'gvisor'

const MiB = 2 ** 20
/** The command line of E2B's clients runs in a login shell. */
const shell = ['/bin/bash', '-l', '-c', 'true']
const path = '/home/user/file'
const content = Buffer.alloc(MiB, 'some bytes that are not all the same; ')

/** The parts of a round with a new runtime. The second one includes the first. */
export const firstParts = ['create', 'create + command'] as const

/** The parts of a round in a runtime that runs. */
export const laterParts = ['command', 'write 1 MiB', 'read 1 MiB'] as const

/** A part of a round. */
export type Part = (typeof firstParts)[number] | (typeof laterParts)[number]

/** The languages, with the two clients that are compared in each. */
export const clientsByLanguage = {
  TypeScript: ['E2B client', 'Holt client'],
  Python: ['E2B client in Python', 'Holt client in Python'],
} as const

/** A client of the row. */
export type Client = (typeof clientsByLanguage)[keyof typeof clientsByLanguage][number]

/** Returns the name of the series of a part by a client. */
export function seriesName(client: Client, part: Part): string {
  return `${client}, ${part}`
}

/** Returns the subjects in TypeScript for rounds with a new runtime. */
export function firstSubjects(stage: Stage, e2b: E2bClient): readonly Subject[] {
  const { holt, signal } = stage
  return [
    firstSubject(stage, 'E2B client', {
      create: () => e2b.create(),
      run: async (sandbox) => (await sandbox.commands.run('true')).exitCode,
      remove: async (sandbox) => void (await sandbox.kill()),
    }),
    firstSubject(stage, 'Holt client', {
      create: () => holt.runtimes.create({ isolation }, { signal }),
      run: async (runtime) => (await runtime.commands.run(shell, { user: 'user', signal })).exit_code ?? -1,
      remove: (runtime) => runtime.delete(),
    }),
  ]
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

/** Returns the subjects in TypeScript for rounds in a sandbox and in a runtime that run. */
export function laterSubjects(stage: Stage, sandbox: E2bSandbox, runtime: Runtime): readonly Subject[] {
  return [
    laterSubject(stage, 'E2B client', byE2b(sandbox)),
    laterSubject(stage, 'Holt client', byHolt(runtime, stage.signal)),
  ]
}

/** The operations of a client in a running runtime. Each throws if the result is wrong. */
type Later = Readonly<Record<(typeof laterParts)[number], () => Promise<void>>>

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

/** The processes of the clients in Python. */
export type PythonClients = Readonly<Record<(typeof clientsByLanguage)['Python'][number], PythonProcess<SandboxStep>>>

/** Returns the subjects in Python for rounds with a new runtime. */
export function firstSubjectsInPython(stage: Stage, clients: PythonClients): readonly Subject[] {
  return clientsByLanguage.Python.map((client) => {
    const series = firstParts.map((part) => seriesName(client, part))
    const tidy = async () => void (await clients[client].measure({ step: 'remove' }, stage.signal))
    return { ...pythonSubject(stage, clients[client], { series, step: 'first' }), tidy, background: true }
  })
}

/** Returns the subjects in Python for rounds in the runtimes that the clients have made before. */
export function laterSubjectsInPython(stage: Stage, clients: PythonClients): readonly Subject[] {
  return clientsByLanguage.Python.map((client) => {
    const series = laterParts.map((part) => seriesName(client, part))
    return pythonSubject(stage, clients[client], { series, step: 'later' })
  })
}

/** A failed operation ends the process of its client, and with it the row. */
function pythonSubject(
  stage: Stage,
  client: PythonProcess<SandboxStep>,
  { series, step }: SandboxStep & { readonly series: readonly string[] },
): Subject {
  return {
    series,
    perform: async () => {
      const times = await client.measure({ step }, stage.signal)
      return series.map((name, index) => ({ series: name, ms: times[index] ?? Number.NaN, error: null }))
    },
    cpuMs: stage.holtCpuMs,
    background: false,
  }
}
