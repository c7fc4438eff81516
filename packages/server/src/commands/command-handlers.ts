import type { GuestProcess } from '@holt/engine'
import { HoltError, type Id, isIdParam } from '@holt/protocol'
import { type Answer, type Call, type Handlers, within } from '../http/call.ts'
import { type OpenRuntime, openGuest } from '../runtimes/open-guest.ts'
import { decodeCursor, encodeCursor } from '../store/page-cursor.ts'
import { decodeOutput } from './decode-output.ts'
import { presentCommand } from './present-command.ts'
import { startCommand } from './start-command.ts'

/** Time for the guest to answer what it can answer at once; a kill takes it up to ten seconds. */
const answerTimeoutMs = 30_000

/** The routes of commands. */
export const commandHandlers = {
  startCommand,
  listCommands,
  getCommand: (call) => aboutCommand(call, ({ guest }, id, signal) => guest.getProcess(id, signal)),
  killCommand: (call) => aboutCommand(call, ({ guest }, id, signal) => guest.killProcess(id, signal)),
  sendSignal: (call) =>
    aboutCommand(call, ({ guest }, id, signal) => guest.signalProcess(id, call.body.signal, signal)),
  readOutput,
  writeStdin,
} satisfies Partial<Handlers>

type CommandCall =
  | Call<'getCommand'>
  | Call<'killCommand'>
  | Call<'sendSignal'>
  | Call<'readOutput'>
  | Call<'writeStdin'>

async function aboutCommand(
  call: CommandCall,
  ask: (runtime: OpenRuntime, id: string, signal: AbortSignal) => Promise<GuestProcess>,
): Promise<Answer> {
  const { runtime, id } = await openCommand(call)
  const process = await ask(runtime, id, within(call, answerTimeoutMs))
  return { status: 200, json: presentCommand(process, id) }
}

async function openCommand({ service, caller, params }: CommandCall): Promise<{ runtime: OpenRuntime; id: string }> {
  const runtime = await openGuest(service, { projectId: caller.projectId, runtimeId: params.runtime_id })
  if (!isIdParam('command_id', params.command_id)) throw new HoltError('command_not_found', 'There is no such command.')
  return { runtime, id: params.command_id }
}

/** The page's cursor is the last command's start and id, so that commands that are forgotten meanwhile do not matter. */
async function listCommands({ service, caller, params, query, gone }: Call<'listCommands'>): Promise<Answer> {
  const { guest } = await openGuest(service, { projectId: caller.projectId, runtimeId: params.runtime_id })
  const all = await guest.listProcesses(within({ gone }, answerTimeoutMs))
  const after = query.cursor === undefined ? null : decodeCursor(query.cursor)
  const left = all
    .filter(({ id, state }) => isIdParam('command_id', id) && (query.state === undefined || state === query.state))
    .map((process) => ({ process, position: positionOf(process) }))
    .sort((a, b) => (a.position < b.position ? 1 : -1))
    .filter(({ position }) => after === null || position < after)
  const page = left.slice(0, query.limit)
  const last = page.at(-1)
  return {
    status: 200,
    json: {
      data: page.map(({ process }) => presentCommand(process, process.id)),
      next_cursor: left.length > query.limit && last !== undefined ? encodeCursor(last.position) : null,
    },
  }
}

function positionOf({ started_at_ms, id }: GuestProcess): string {
  return `${String(started_at_ms).padStart(16, '0')} ${id}`
}

async function readOutput(call: Call<'readOutput'>): Promise<Answer> {
  const { runtime, id } = await openCommand(call)
  const follow = call.query.follow === 'true' || call.query.follow === '1'
  const signal = follow ? call.gone : within(call, answerTimeoutMs)
  const items = await runtime.guest.readOutput(id, { cursor: call.query.cursor, follow }, signal)
  return { status: 200, items: decodeOutput(items, id as Id<'command'>) }
}

async function writeStdin(call: Call<'writeStdin'>): Promise<Answer> {
  const { runtime, id } = await openCommand(call)
  const { data, encoding, eof } = call.body
  const bytes = Buffer.from(data, encoding === 'base64' ? 'base64' : 'utf8')
  const written = await runtime.guest.writeStdin(id, { data: bytes, eof }, within(call, answerTimeoutMs))
  return { status: 200, json: { written_bytes: Math.min(written, bytes.length) } }
}
