import {
  HoltError,
  type OutputItem,
  type RouteName,
  type SendSignalInput,
  type StartCommand,
  type TerminalSize,
  type WriteStdinInput,
} from '@holt/protocol'
import { codeHandlers } from './code-handlers.ts'
import { dryRunOf } from './dry-run-of.ts'
import { eventHandlers } from './event-handlers.ts'
import { fileHandlers } from './file-handlers.ts'
import { lifecycleHandlers, snapshotOf } from './lifecycle-handlers.ts'
import { runningOf, runtimeOf } from './named-runtime.ts'
import { networkHandlers, takeNetwork } from './network-handlers.ts'
import { portHandlers } from './port-handlers.ts'
import { TestProcess } from './processes.ts'
import { projectHandlers } from './project-handlers.ts'
import { runningRuntime, sampleSession, sampleUsage } from './samples.ts'
import { templateHandlers, templateOf } from './template-handlers.ts'
import type { TestAnswer, TestCall } from './test-service.ts'
import { treeHandlers } from './tree-handlers.ts'

type Handler = (call: TestCall) => TestAnswer | Promise<TestAnswer>

/** The handler of each route. */
export const handlers: Readonly<Record<RouteName, Handler>> = {
  createRuntime: ({ service, body, request }) => {
    const key = request.headers['idempotency-key'] as string | undefined
    const replay = key === undefined ? undefined : service.replays.get(key)
    if (replay !== undefined) return { status: 201, json: replay }
    const wanted = body as Record<string, unknown>
    if (wanted.dry_run === true) return { status: 200, json: dryRunOf(service, wanted) }
    const snapshot = wanted.snapshot === undefined ? null : snapshotOf(service, String(wanted.snapshot))
    const source = snapshot?.template as Record<string, unknown> | undefined
    const template = source ?? templateOf(service, String(wanted.template ?? 'base-small'))
    requireFreeName(service, wanted.name)
    const runtime = runningRuntime(wanted, template)
    Object.assign(runtime, { snapshot_id: snapshot?.snapshot_id ?? null })
    takeNetwork(service, runtime, wanted)
    service.runtimes.set(runtime.runtime_id as string, runtime)
    if (key !== undefined) service.replays.set(key, runtime)
    return { status: 201, json: runtime }
  },
  listRuntimes: ({ service, query }) => {
    const wanted = [...service.runtimes.values()].reverse().filter((runtime) => matches(runtime, query))
    return { status: 200, json: pageOf(wanted, query) }
  },
  getRuntime: (call) => ({ status: 200, json: runtimeOf(call) }),
  deleteRuntime: (call) => {
    Object.assign(runtimeOf(call), { state: 'terminated' })
    return { status: 204 }
  },
  startCommand: async (call) => {
    const body = call.body as StartCommand
    const { runtime_id } = runningOf(call)
    const process = new TestProcess(
      body,
      body.cwd === undefined ? '/' : call.service.place(String(runtime_id), body.cwd),
      call.service.tellsEnd,
    )
    call.service.processes.set(process.command.command_id, process)
    if (body.session !== undefined) call.service.sessions.set(body.session, sampleSession(body.session))
    if (body.background) return { status: 201, json: process.command }
    if (call.request.headers.accept === 'text/event-stream') return streamItems(call, process, 0, true)
    while (!process.ended) await process.more(process.items.length)
    const output = {
      stdout: process.text('stdout'),
      stderr: process.text('stderr'),
      truncated: { stdout: false, stderr: false },
    }
    return { status: 200, json: { ...process.command, ...output } }
  },
  listCommands: ({ service, query }) => {
    const all = [...service.processes.values()].reverse().map((process) => process.command)
    return { status: 200, json: pageOf(all, query) }
  },
  getCommand: (call) => ({ status: 200, json: processOf(call).command }),
  readOutput: (call) =>
    streamItems(
      call,
      processOf(call),
      Number(call.query.cursor ?? 0),
      ['true', '1'].includes(String(call.query.follow)),
    ),
  writeStdin: (call) => {
    const process = processOf(call)
    const { data = '', encoding, eof = false, offset } = call.body as WriteStdinInput
    const sent = Buffer.from(data, encoding === 'base64' ? 'base64' : 'utf8')
    if ((offset ?? 0) > process.taken)
      throw new HoltError('conflict', 'a gap', { details: { reason: 'stdin_gap', offset: process.taken } })
    const bytes = sent.subarray(process.taken - (offset ?? process.taken))
    if (!process.stdinIsOpen && (bytes.length > 0 || offset === undefined))
      throw new HoltError('conflict', 'stdin is closed', { details: { reason: 'stdin_closed' } })
    // As many as the service may take at once; the rest is to be sent again.
    const taken = bytes.subarray(0, call.service.stdinPieceBytes)
    process.write(taken, eof && taken.length === bytes.length)
    return { status: 200, json: { written_bytes: taken.length, offset: process.taken } }
  },
  listSessions: ({ service, query }) => ({ status: 200, json: pageOf([...service.sessions.values()], query) }),
  endSession: ({ service, params }) => {
    if (!service.sessions.delete(params.name ?? '')) throw new HoltError('session_not_found', 'No such session')
    return { status: 204 }
  },
  sendSignal: (call) => {
    processOf(call).kill((call.body as SendSignalInput).signal as NodeJS.Signals)
    return { status: 200, json: processOf(call).command }
  },
  resizeTerminal: (call) => {
    const { command } = processOf(call)
    if (command.pty === null) throw new HoltError('conflict', 'no terminal')
    Object.assign(command, { pty: call.body as TerminalSize })
    return { status: 200, json: command }
  },
  attachCommand: (call) => {
    processOf(call)
    throw new HoltError('upgrade_required', 'An attachment is a WebSocket.')
  },
  killCommand: async (call) => {
    const process = processOf(call)
    process.kill('SIGKILL')
    while (!process.ended) await process.more(process.items.length)
    return { status: 200, json: process.command }
  },
  ...codeHandlers,
  ...lifecycleHandlers,
  ...eventHandlers,
  ...fileHandlers,
  ...portHandlers,
  ...networkHandlers,
  ...treeHandlers,
  ...templateHandlers,
  ...projectHandlers,
  health: () => ({ status: 200, json: { status: 'ok' } }),
  readiness: ({ service: { ready, isolation } }) => ({
    status: ready ? 200 : 503,
    json: {
      status: ready ? 'ready' : 'not_ready',
      version: '0.1.0',
      reasons: ready ? [] : ['the base template is being made'],
      isolation,
    },
  }),
  runtimeMetrics: (call) => ({ status: 200, json: metricsOf(runtimeOf(call), call.query) }),
  listRuntimeMetrics: ({ service, query }) => {
    const all = [...service.runtimes.values()].reverse()
    const ids = query.runtime_id as readonly string[] | undefined
    const found = all.filter(({ runtime_id, state }) => ids?.includes(String(runtime_id)) ?? state === 'running')
    return {
      status: 200,
      json: pageOf(
        found.map((runtime) => metricsOf(runtime, query)),
        query,
      ),
    }
  },
  metrics: ({ response }) => {
    response.end('# TYPE holt_runtimes gauge\nholt_runtimes{state="running"} 0\n')
    return undefined
  },
  openapi: () => ({ status: 200, json: {} }),
  docs: () => ({ status: 304 }),
}

type Fields = Readonly<Record<string, unknown>>

function metricsOf({ runtime_id, state }: Fields, { step_secs, window_secs }: Fields): Fields {
  const sample = sampleUsage()
  return {
    runtime_id,
    state,
    limits: { cpu: 1, memory_bytes: 2 ** 30, disk_bytes: 4 * 2 ** 30 },
    now: state === 'running' ? sample : null,
    step_secs,
    samples: window_secs === 0 ? [] : [sample],
  }
}

function processOf(call: TestCall): TestProcess {
  runningOf(call)
  const process = call.service.processes.get(call.params.command_id ?? '')
  if (process === undefined) throw new HoltError('command_not_found', 'No such command')
  return process
}

async function streamItems(
  { response }: TestCall,
  process: TestProcess,
  cursor: number,
  follow: boolean,
): Promise<undefined> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  // A reader that has all of a command that ended is told the end once more, as by the service.
  const last = process.ended ? process.items.length - 2 : cursor
  for (let at = Math.min(cursor, last); ; at++) {
    if (follow) while (!process.ended && process.items.length <= at) await process.more(process.items.length)
    if (response.locals !== undefined && response.locals.itemsLeft-- === 0) {
      response.destroy()
      return
    }
    const item = process.items[at]
    if (item === undefined) break
    writeEvent(response, item)
  }
  if (!process.ended) writeEvent(response, { type: 'end', cursor: process.items.length })
  response.end()
}

/** An event, after a comment as the service sends them while nothing happens. */
function writeEvent(response: TestCall['response'], item: OutputItem): void {
  response.write(`: quiet\n\nevent: ${item.type}\nid: ${item.cursor}\ndata: ${JSON.stringify(item)}\n\n`)
}

function pageOf(all: readonly unknown[], query: Readonly<Record<string, unknown>>): unknown {
  const start = Number(query.cursor ?? 0)
  const end = start + Number(query.limit)
  return { data: all.slice(start, end), next_cursor: end < all.length ? String(end) : null }
}

/** A name is that of one runtime that has not ended. */
function requireFreeName(service: TestCall['service'], name: unknown): void {
  const ended = ['terminated', 'failed']
  const taken = [...service.runtimes.values()].some((row) => row.name === name && !ended.includes(String(row.state)))
  if (name !== undefined && taken) throw new HoltError('name_taken', `A runtime named ${name} exists.`)
}

function matches(runtime: Readonly<Record<string, unknown>>, query: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(query).every(([name, value]) => {
    if (name.startsWith('metadata.')) return (runtime.metadata as Record<string, string>)[name.slice(9)] === value
    if (name === 'state' || name === 'runtime_id') return [value].flat().includes(runtime[name])
    return !['name', 'isolation'].includes(name) || runtime[name] === value
  })
}
