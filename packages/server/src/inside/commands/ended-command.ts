import type { GuestItem, StartProcess } from '@holt/guest-client'
import type { Command, Id } from '@holt/protocol'
import type { Log } from '../../foundation/log.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { OpenRuntime } from '../../runtimes/links/open-guest.ts'
import type { GuestExit } from './decode-output.ts'
import { presentCommand } from './present-command.ts'

/** The facts about a command that the items of its output carry. */
export class SeenCommand {
  pid = 0
  startedAt: number | null = null
  stdoutBytes = 0
  stderrBytes = 0
  droppedBytes = 0
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Yields the items as they are, and notes their facts. */
  async *note(items: AsyncIterable<GuestItem>): AsyncGenerator<GuestItem> {
    for await (const item of items) {
      if (item.type === 'start') [this.pid, this.startedAt] = [item.pid, this.#now()]
      else if (item.type === 'stdout') this.stdoutBytes += Buffer.byteLength(item.data, 'base64')
      else if (item.type === 'stderr') this.stderrBytes += Buffer.byteLength(item.data, 'base64')
      else if (item.type === 'dropped') this.droppedBytes += item.dropped_bytes
      yield item
    }
  }
}

/** A command that has ended, as this service has seen it. */
export interface EndedCommand {
  readonly runtime: OpenRuntime
  readonly request: StartProcess
  readonly seen: Omit<SeenCommand, 'note'>
  readonly exit: Omit<GuestExit, 'type' | 'cursor'>
  /** The times that this service saw, for a guest that does not send its own. */
  readonly startedAt: number
  readonly endedAt: number
}

/** Returns the final state of a command as the API shows it, without a request to the guest. */
export function endedCommand({ runtime, request, seen, exit, ...times }: EndedCommand): Command {
  const { started_at_ms: startedAt = times.startedAt, ended_at_ms: endedAt = times.endedAt } = exit
  return {
    command_id: request.id as Id<'command'>,
    pid: seen.pid,
    state: 'exited',
    command: request.command,
    argv: request.argv === null ? null : [...request.argv],
    cwd: request.cwd ?? runtime.row.workdir,
    user: request.user ?? runtime.row.user,
    exit_code: exit.exit_code,
    signal: exit.signal,
    timed_out: exit.timed_out,
    oom_killed: exit.oom_killed ?? false,
    started_at: moment(startedAt),
    ended_at: moment(endedAt),
    duration_ms: Math.max(0, Math.round(endedAt - startedAt)),
    stdout_bytes: seen.stdoutBytes,
    stderr_bytes: seen.stderrBytes,
    dropped_bytes: seen.droppedBytes,
    dropped: { stdout: 0, stderr: 0 },
    session: request.session ?? null,
    session_kept: exit.session_kept ?? null,
    pty: request.pty,
  }
}

/**
 * The output that the guest keeps of any command, in bytes. Of a command with more, only the guest
 * knows how much it still keeps.
 */
const alwaysKeptBytes = 64 * 1024
const guestTimeoutMs = 5_000

/**
 * Returns the final state of a command whose items were streamed. It asks the guest only if the
 * items lack a fact. Such facts are the number of bytes that are no longer kept, and the start of a
 * command of an earlier request. They are also the directory and user, if the command has its own
 * or a session.
 */
export async function finalState(
  ended: EndedCommand,
  { isRepeated, log }: { readonly isRepeated: boolean; readonly log: Log },
): Promise<Command | undefined> {
  const { seen, request, runtime } = ended
  const keepsAll = seen.droppedBytes === 0 && seen.stdoutBytes + seen.stderrBytes <= alwaysKeptBytes
  const isPlain = request.session === undefined && request.user === undefined && request.cwd === undefined
  if (keepsAll && isPlain && !isRepeated) return endedCommand(ended)
  return askedState(runtime, request.id, log)
}

/**
 * Returns the state of a command from its guest. If the guest does not answer, it is undefined: the
 * output is complete without it, and the client reads the command itself.
 */
export async function askedState({ guest }: OpenRuntime, commandId: string, log: Log): Promise<Command | undefined> {
  try {
    return presentCommand(await guest.processes.get(commandId, AbortSignal.timeout(guestTimeoutMs)), commandId)
  } catch (err) {
    log.warn({ err, command_id: commandId }, 'the guest does not send the final state of a command')
    return undefined
  }
}
