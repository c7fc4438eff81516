import type { GuestItem, GuestProcess } from '@holt/guest-client'
import { HoltError, type Id, isIdParam, isSet } from '@holt/protocol'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import { type Answer, type Call, within } from '../../foundation/wire/call.ts'
import { findAttachable } from '../../inside/attach/find-attachable.ts'
import { decodeOutput } from '../../inside/commands/decode-output.ts'
import { askedState } from '../../inside/commands/ended-command.ts'
import { type Followed, followOutput } from '../../inside/commands/follow-output.ts'
import { pageOfGuest } from '../../inside/commands/list-page.ts'
import { presentCommand } from '../../inside/commands/present-command.ts'
import { startCommand } from '../../inside/commands/start-command.ts'
import { type OpenRuntime, openGuest } from '../../runtimes/links/open-guest.ts'
import { StreamRetry } from '../../runtimes/links/stream-retry.ts'
import type { Api, Handlers } from '../api.ts'

/**
 * The time for an immediate answer of the guest, in milliseconds. A kill takes up to ten seconds.
 */
const answerTimeoutMs = 30_000

/** The routes of commands. */
export const commandHandlers = {
  startCommand,
  listCommands,
  getCommand: (call) => aboutCommand(call, ({ guest }, id, signal) => guest.processes.get(id, signal)),
  killCommand: (call) => aboutCommand(call, ({ guest }, id, signal) => guest.processes.kill(id, signal)),
  sendSignal: (call) =>
    aboutCommand(call, ({ guest }, id, signal) => guest.processes.signal(id, call.body.signal, signal)),
  resizeTerminal,
  attachCommand,
  readOutput,
  writeStdin,
} satisfies Partial<Handlers>

type CommandCall =
  | Call<'getCommand', Api>
  | Call<'killCommand', Api>
  | Call<'sendSignal', Api>
  | Call<'resizeTerminal', Api>
  | Call<'readOutput', Api>
  | Call<'writeStdin', Api>

async function aboutCommand(
  call: CommandCall,
  ask: (runtime: OpenRuntime, id: string, signal: AbortSignal) => Promise<GuestProcess>,
): Promise<Answer> {
  const { runtime, id } = await openCommand(call)
  const process = await ask(runtime, id, within(call, answerTimeoutMs))
  return { status: 200, json: presentCommand(process, id) }
}

async function resizeTerminal(call: Call<'resizeTerminal', Api>): Promise<Answer> {
  const answer = await aboutCommand(call, ({ guest }, id, signal) => guest.processes.resize(id, call.body, signal))
  call.service.rooms.tell(call.params, { type: 'resize', ...call.body })
  return answer
}

/**
 * Handles an attachment that did not ask for an upgrade. The client gets the error of its request,
 * or else `upgrade_required`.
 */
async function attachCommand({ service, caller, params, query, gone }: Call<'attachCommand', Api>): Promise<Answer> {
  await findAttachable(service, { caller, params, query, gone })
  throw new HoltError('upgrade_required', 'An attachment is a WebSocket.')
}

async function openCommand(call: CommandCall): Promise<{ runtime: OpenRuntime; id: string }> {
  const { service, params, ref } = call
  const runtime = await openGuest(service, ref, call)
  if (!isIdParam('command_id', params.command_id)) throw idNotFound('command_not_found', params.command_id)
  return { runtime, id: params.command_id }
}

async function listCommands({ service, query, gone, ref }: Call<'listCommands', Api>): Promise<Answer> {
  const { guest } = await openGuest(service, ref, { gone })
  const all = await guest.processes.list(within({ gone }, answerTimeoutMs))
  const wanted = all.filter(
    ({ id, state }) => isIdParam('command_id', id) && (query.state === undefined || state === query.state),
  )
  const show = (process: GuestProcess) => presentCommand(process, process.id)
  return { status: 200, json: pageOfGuest(wanted, { query, nameOf: ({ id }) => id, show }) }
}

async function readOutput(call: Call<'readOutput', Api>): Promise<Answer> {
  const { runtime, id } = await openCommand(call)
  const follow = isSet(call.query.follow)
  const { cursor } = call.query
  const signal = follow ? call.gone : within(call, answerTimeoutMs)
  const begun = await runtime.guest.processes.readOutput(id, { cursor, follow }, signal)
  const items = follow ? followAnswer(call, runtime, { begun, commandId: id, cursor }) : begun
  const stateOf = () => askedState(runtime, id, call.service.log)
  return { status: 200, items: decodeOutput(items, id as Id<'command'>, stateOf) }
}

function followAnswer(
  { service, gone: signal, ref }: Call<'readOutput', Api>,
  { guest }: OpenRuntime,
  followed: Pick<Followed, 'begun' | 'commandId' | 'cursor'>,
): AsyncIterable<GuestItem> {
  const streamRetry = new StreamRetry(service, { ref, signal })
  return followOutput({ ...followed, guest, hold: false, hasStart: false }, streamRetry, signal)
}

async function writeStdin(call: Call<'writeStdin', Api>): Promise<Answer> {
  const { runtime, id } = await openCommand(call)
  const { data, encoding, eof, offset = null } = call.body
  const bytes = Buffer.from(data, encoding === 'base64' ? 'base64' : 'utf8')
  const written = await runtime.guest.processes.writeStdin(
    id,
    { data: bytes, eof, offset },
    within(call, answerTimeoutMs),
  )
  return {
    status: 200,
    json: { written_bytes: Math.min(written.written_bytes, bytes.length), offset: written.offset },
  }
}
