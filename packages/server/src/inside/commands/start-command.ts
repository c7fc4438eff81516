import { failpoint } from '@holt/failpoints'
import type { GuestItem, GuestProcess, StartProcess } from '@holt/guest-client'
import { type CommandResult, HoltError, type Id, type OutputItem, type StartCommand } from '@holt/protocol'
import { otherHost } from '../../foundation/host/require-own.ts'
import { refOf } from '../../foundation/rows/find-runtime.ts'
import { type Answer, type Call, within } from '../../foundation/wire/call.ts'
import { acceptedFormat } from '../../foundation/wire/stream-items.ts'
import { type OpenRuntime, openGuest } from '../../runtimes/links/open-guest.ts'
import { StreamRetry } from '../../runtimes/links/stream-retry.ts'
import type { Inside } from '../inside.ts'
import { type Collected, collectResult } from './collect-result.ts'
import { decodeOutput } from './decode-output.ts'
import { endedCommand, finalState, SeenCommand } from './ended-command.ts'
import { followOutput } from './follow-output.ts'
import { presentCommand } from './present-command.ts'
import { rlimitsOf } from './rlimits-of.ts'
import { RunningTimeout } from './running-timeout.ts'
import { shortenResult } from './shorten-result.ts'

/**
 * The time for the guest to answer a start, and the margin of a wait over the command's own
 * timeout, in milliseconds.
 */
const graceMs = 30_000

/**
 * Starts a command. Returns at once, streams the output or waits for the end, as the request asks.
 */
export async function startCommand(call: Call<'startCommand', Inside>): Promise<Answer> {
  const { service, body, ref } = call
  const runtime = await openGuest(service, ref, { gone: call.gone })
  const timeoutMs = body.background && !call.sentFields.has('timeout_secs') ? 0 : Math.round(body.timeout_secs * 1000)
  const request = processOf(body, {
    id: call.newId('command'),
    timeoutMs,
    rlimits: rlimitsOf(body.rlimits, runtime.row.isolation),
  })
  service.metrics.work.noteCommand(modeOf(call))
  await failpoint('command.prepared')
  if (body.background) {
    const process = await startOrFind(runtime, request, within(call, graceMs))
    return { status: 201, json: presentCommand(process, request.id) }
  }
  if (acceptedFormat(call.headers.accept) !== null) {
    return { status: 200, items: await stream(call, runtime, request) }
  }
  const result = await waitFor(call, { runtime, request, timeoutMs })
  return { status: 200, json: result, shorten: (maxBytes) => shortenResult(result, maxBytes) }
}

function modeOf({ body, headers }: Call<'startCommand', Inside>): 'waited' | 'streamed' | 'background' {
  if (body.background) return 'background'
  return acceptedFormat(headers.accept) === null ? 'waited' : 'streamed'
}

function processOf(
  body: StartCommand,
  { id, timeoutMs, rlimits }: { id: string; timeoutMs: number; rlimits: NonNullable<StartProcess['rlimits']> },
): StartProcess {
  return {
    id,
    command: body.command ?? null,
    argv: body.argv ?? null,
    cwd: body.cwd ?? null,
    env: body.env,
    user: body.user ?? null,
    stdin: body.stdin === true ? 'pipe' : 'none',
    stdin_data: typeof body.stdin === 'string' ? Buffer.from(body.stdin, 'utf8').toString('base64') : null,
    timeout_ms: timeoutMs,
    ring_bytes: null,
    ...(Object.keys(rlimits).length === 0 ? {} : { rlimits }),
    ...(body.session === undefined ? {} : { session: body.session }),
    pty: body.pty ?? null,
    await_reader: body.background && body.pty !== undefined,
    ...(body.background ? { background: true } : {}),
  }
}

async function stream(
  { service, gone: signal, ref }: Call<'startCommand', Inside>,
  runtime: OpenRuntime,
  request: StartProcess,
): Promise<AsyncIterable<OutputItem>> {
  const asked = service.now()
  const streamRetry = new StreamRetry(service, { ref, signal })
  const { items, isRepeated } = await runOrFollow(runtime, request, { streamRetry, signal })
  const seen = new SeenCommand(service.now)
  return decodeOutput(seen.note(items), request.id as Id<'command'>, (exit) => {
    const times = { startedAt: seen.startedAt ?? asked, endedAt: service.now() }
    return finalState({ runtime, request, seen, exit, ...times }, { isRepeated, log: service.log })
  })
}

async function startOrFind({ guest }: OpenRuntime, request: StartProcess, signal: AbortSignal): Promise<GuestProcess> {
  try {
    return await guest.processes.start(request, signal)
  } catch (error) {
    if (isKnown(error)) return guest.processes.get(request.id, signal)
    throw error
  }
}

/**
 * Returns the items of a command from its start to its end, across pauses. A repeated start follows
 * the command from its beginning, and does not hold it.
 */
async function runOrFollow(
  { guest }: OpenRuntime,
  request: StartProcess,
  { streamRetry, signal }: { streamRetry: StreamRetry; signal: AbortSignal },
): Promise<{ readonly items: AsyncIterable<GuestItem>; readonly isRepeated: boolean }> {
  const followed = { guest, commandId: request.id, cursor: 0 }
  try {
    const begun = await guest.processes.run(request, signal)
    const items = followOutput({ ...followed, hold: true, hasStart: true, begun }, streamRetry, signal)
    return { items, isRepeated: false }
  } catch (error) {
    if (!isKnown(error)) throw error
    const begun = await guest.processes.readOutput(request.id, { cursor: 0, follow: true }, signal)
    const items = followOutput({ ...followed, hold: false, hasStart: false, begun }, streamRetry, signal)
    return { items, isRepeated: true }
  }
}

/**
 * Returns true if the guest knows the id. The request is then a repeated one: its command runs or
 * ran, and is not started twice.
 */
function isKnown(error: unknown): boolean {
  return error instanceof HoltError && error.code === 'already_exists'
}

/** Returns the error for a command that goes on, because its runtime has moved to another host. */
function moved(commandId: string, cause: HoltError): HoltError {
  return new HoltError('unavailable', 'The runtime moved to another host while the command ran. It still runs.', {
    hint: 'Send the request again with the same Idempotency-Key, or read the command by its id.',
    details: { ...cause.details, command_id: commandId },
    cause,
  })
}

interface Waiting {
  readonly runtime: OpenRuntime
  readonly request: StartProcess
  readonly timeoutMs: number
}

async function waitFor(
  call: Call<'startCommand', Inside>,
  { runtime, request, timeoutMs }: Waiting,
): Promise<CommandResult> {
  const { service, gone } = call
  using clock = timeoutMs === 0 ? null : new RunningTimeout(timeoutMs + graceMs)
  const signal = clock === null ? gone : AbortSignal.any([gone, clock.signal])
  const streamRetry = new StreamRetry(service, {
    ref: refOf(runtime.row),
    signal,
    ...(clock === null ? {} : { clock }),
  })
  const startedAt = service.now()
  const { items } = await runOrFollow(runtime, request, { streamRetry, signal })
  const seen = new SeenCommand(service.now)
  let collected: Collected
  try {
    const { keep } = call
    collected = await collectResult(seen.note(items), { maxOutputBytes: call.body.max_output_bytes, keep })
  } catch (cause) {
    if (cause instanceof HoltError && cause.details?.reason === otherHost) throw moved(request.id, cause)
    // The answer does not name the cause, so the log does. A client that has disconnected is not a
    // cause.
    if (!gone.aborted) {
      const facts = { err: cause, runtime_id: runtime.row.runtime_id, command_id: request.id }
      service.log.warn(facts, 'the connection to a runtime broke while a command ran')
    }
    throw brokeOff(request.id, cause)
  }
  await failpoint('command.ended')
  const times = { startedAt: seen.startedAt ?? startedAt, endedAt: service.now() }
  const { stdout, stderr, exit } = collected
  const result: CommandResult = {
    ...endedCommand({ runtime, request, seen, exit, ...times }),
    stdout: stdout.text,
    stderr: stderr.text,
    truncated: { stdout: stdout.truncated, stderr: stderr.truncated },
  }
  if (seen.droppedBytes === 0 && request.session === undefined) return result
  try {
    return withGuestsWord(result, await runtime.guest.processes.get(request.id, AbortSignal.timeout(graceMs)))
  } catch (err) {
    // The command has ended, and only details of its result are missing. An error would make the
    // client run it again.
    call.service.log.warn({ err, command_id: request.id }, 'the guest does not send the rest of a result')
    return result
  }
}

/**
 * Returns the error for a lost connection. Only the guest knows the end of the command. The error
 * is not a 503: a client that repeats the request would run the command twice.
 */
function brokeOff(commandId: string, cause: unknown): HoltError {
  return new HoltError('timeout', 'The connection to the runtime broke while the command ran. It may still run.', {
    hint: 'Read the command by its id: GET .../commands/{command_id}.',
    details: { command_id: commandId },
    cause,
  })
}

/**
 * Adds the facts that only the guest knows. They are the stream of the bytes that its ring dropped,
 * and the directory and user of a session's command.
 */
function withGuestsWord(result: CommandResult, process: GuestProcess): CommandResult {
  const dropped = result.dropped_bytes > 0
  return {
    ...result,
    cwd: process.cwd,
    user: process.user,
    ...(dropped ? missingBytes(result, process) : {}),
  }
}

function missingBytes(result: CommandResult, process: GuestProcess) {
  const dropped = {
    stdout: Math.max(0, process.stdout_bytes - result.stdout_bytes),
    stderr: Math.max(0, process.stderr_bytes - result.stderr_bytes),
  }
  return {
    dropped,
    stdout_bytes: process.stdout_bytes,
    stderr_bytes: process.stderr_bytes,
    truncated: {
      stdout: result.truncated.stdout || dropped.stdout > 0,
      stderr: result.truncated.stderr || dropped.stderr > 0,
    },
  }
}
