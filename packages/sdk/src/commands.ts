import type { CommandResult, ErrorCode, OutputItem, Session, StartCommandInput } from '@holt/protocol'
import { type CommandHandle, makeCommandHandle } from './command-handle.ts'
import { collectOutput, type OutputListener, resultOf } from './content/output.ts'
import { HoltConnectionError } from './errors/errors.ts'
import { ShellSession, whenFree } from './session.ts'
import { type AttachOptions, Terminal } from './terminal/terminal.ts'
import { endLeft, type OnAbort, untilAborted } from './transport/abort-command.ts'
import { eventStream, resumeItems } from './transport/item-stream.ts'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/** The options for a command of a session, in the API's own words. */
export type SessionCommandOptions = Omit<StartCommandInput, 'command' | 'argv' | 'background' | 'session'> & CallOptions

/** The options for a command, in the API's own words. */
export type CommandOptions = SessionCommandOptions & Pick<StartCommandInput, 'session'>

/** The options for a command that the caller waits for. */
export interface StreamOptions extends CommandOptions {
  /**
   * The fate of the command when `signal` aborts the call, or the loop over `stream` is left.
   * `kill` (default): it is killed before the call throws. `leave`: it continues.
   */
  readonly onAbort?: OnAbort | undefined
}

/** The options for running a command and listening to it. */
export type RunOptions = StreamOptions & OutputListener

/**
 * The longest wait without a byte, in seconds. Node's fetch ends an answer that is silent for
 * longer, so longer commands are streamed.
 */
const longestSilentWaitSecs = 240
const defaultTimeoutSecs = 60
/**
 * The time that the service and the network may add to a command's own time limit, in milliseconds.
 */
const answerMarginMs = 45_000

/** The commands of one runtime. `/bin/sh -c` runs a string; an array is run directly. */
export class Commands {
  readonly #transport: Transport
  readonly #runtimeId: string
  constructor(transport: Transport, runtimeId: string) {
    this.#transport = transport
    this.#runtimeId = runtimeId
  }

  /**
   * Runs a command and waits for its end. A failed or timed-out command is a result, not an error.
   * `stdout` and `stderr` hold up to `max_output_bytes` (1 MiB) each. `onStdout` and `onStderr`
   * receive everything as it arrives. Aborting the call kills the command, unless `onAbort` is
   * `leave`.
   *
   * The request is sent once. If the connection breaks before the start is confirmed, the call
   * throws a `HoltConnectionError`, and the command may run. `start` and `wait` have no such case.
   */
  async run(command: string | readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    const { onStdout, onStderr, ...rest } = options
    const timeoutSecs = options.timeout_secs ?? defaultTimeoutSecs
    const kills = options.signal !== undefined && options.onAbort !== 'leave'
    const streamed = kills || onStdout !== undefined || onStderr !== undefined
    if (streamed || timeoutSecs === 0 || timeoutSecs > longestSilentWaitSecs)
      return this.#runStreamed(command, rest, { onStdout, onStderr })
    const answer = await whenFree(options, () =>
      this.#transport.call('startCommand', {
        signal: options.signal,
        params: { runtime_id: this.#runtimeId },
        json: bodyOf(command, rest, false),
        timeoutMs: timeoutSecs * 1000 + answerMarginMs,
      }),
    )
    if ('stdout' in answer) return answer
    throw new HoltConnectionError('lost', 'The service answered before the command ended')
  }

  /**
   * Starts a command in the background. Without `timeout_secs` it can run as long as its runtime.
   * After a lost answer the request is repeated, and the command starts once.
   */
  async start(command: string | readonly string[], options: CommandOptions = {}): Promise<CommandHandle> {
    // The service keeps a refusal under its key, so each start has one of its own.
    const data = await whenFree(options, () =>
      this.#transport.call('startCommand', {
        signal: options.signal,
        idempotencyKey: crypto.randomUUID(),
        params: { runtime_id: this.#runtimeId },
        json: bodyOf(command, options, true),
      }),
    )
    const stdin = options.stdin === true ? { stdinOffset: 0 } : {}
    return makeCommandHandle(this.#transport, { runtimeId: this.#runtimeId, data, ...stdin })
  }

  /**
   * Runs a command and yields its items as they arrive, from `start` to `end`. After a broken
   * connection it reconnects and continues after the last item. Aborting, or leaving the loop,
   * kills the command, unless `onAbort` is `leave`.
   */
  stream(
    command: string | readonly string[],
    options: StreamOptions = {},
  ): AsyncGenerator<OutputItem, void, undefined> {
    const { signal, onAbort = 'kill' } = options
    return untilAborted({
      signal,
      end: onAbort === 'kill' ? (commandId) => this.#killLeft(commandId) : null,
      open: (connection) => this.#items(command, options, connection),
      idOf: (item) => (item.type === 'start' ? item.command_id : null),
      isLast: (item) => item.type === 'exit',
    })
  }

  async *#items(
    command: string | readonly string[],
    options: StreamOptions,
    connection: AbortSignal,
  ): AsyncGenerator<OutputItem, void, undefined> {
    const { signal } = options
    const { resumeTimeoutMs } = this.#transport.options
    let commandId = ''
    const first = await whenFree(options, () =>
      this.#transport.open('startCommand', {
        signal,
        connection,
        params: { runtime_id: this.#runtimeId },
        json: bodyOf(command, options, false),
        headers: { accept: eventStream },
      }),
    )
    const items = resumeItems<OutputItem>({
      first,
      open: (cursor) => this.#openOutput(commandId, cursor, connection),
      canReopen: () => commandId !== '',
      cursor: 0,
      resumeTimeoutMs,
      signal: connection,
    })
    for await (const item of items) {
      if (item.type === 'start') commandId = item.command_id
      yield item
    }
  }

  /** Kills a command that has no caller any more. A missing command is success. */
  async #killLeft(commandId: string): Promise<void> {
    const params = { runtime_id: this.#runtimeId, command_id: commandId }
    const kill = (signal: AbortSignal) => this.#transport.run('killCommand', { params, signal, twiceIsOnce: true })
    await endLeft(kill, { gone: goneCodes, what: `The command ${commandId} could not be killed` })
  }

  /** Attaches to a command: its output from any point that is kept and, with `write`, its input. */
  attach(commandId: string, options: AttachOptions = {}): Promise<Terminal> {
    return Terminal.open(this.#transport, { runtime_id: this.#runtimeId, command_id: commandId }, options)
  }

  /** Lists commands, newest first. */
  list(
    filter: { readonly state?: 'running' | 'exited'; readonly limit?: number } = {},
    options: CallOptions = {},
  ): Paginated<CommandHandle> {
    return paginate(async (cursor) => {
      const params = { runtime_id: this.#runtimeId }
      const page = await this.#transport.call('listCommands', { ...options, params, query: { ...filter, cursor } })
      const runtimeId = this.#runtimeId
      const handles = page.data.map((data) => makeCommandHandle(this.#transport, { runtimeId, data }))
      return { data: handles, next_cursor: page.next_cursor }
    })
  }

  /**
   * Returns a shell whose directory and variables carry over from command to command. Its first
   * command creates it.
   */
  session(name: string): ShellSession {
    return new ShellSession(name, this, (session, options) =>
      this.#transport.run('endSession', { ...options, params: { runtime_id: this.#runtimeId, name: session } }),
    )
  }

  /** Lists shell sessions, newest first. */
  sessions(filter: { readonly limit?: number } = {}, options: CallOptions = {}): Paginated<Session> {
    const params = { runtime_id: this.#runtimeId }
    return paginate((cursor) =>
      this.#transport.call('listSessions', { ...options, params, query: { ...filter, cursor } }),
    )
  }

  /** Gets a command by its id. */
  async get(commandId: string, options: CallOptions = {}): Promise<CommandHandle> {
    const params = { runtime_id: this.#runtimeId, command_id: commandId }
    const data = await this.#transport.call('getCommand', { ...options, params })
    return makeCommandHandle(this.#transport, { runtimeId: this.#runtimeId, data })
  }

  async #runStreamed(
    command: string | readonly string[],
    options: StreamOptions,
    listener: OutputListener,
  ): Promise<CommandResult> {
    const started: { commandId?: string } = {}
    const output = await collectOutput(noteStart(this.stream(command, options), started), {
      ...listener,
      max_output_bytes: options.max_output_bytes,
    })
    const params = { runtime_id: this.#runtimeId, command_id: started.commandId ?? '' }
    // An older service does not send the final state, so it is read.
    const ended = output.command ?? (await this.#transport.call('getCommand', { signal: options.signal, params }))
    return resultOf(ended, output)
  }

  #openOutput(commandId: string, cursor: number, signal: AbortSignal): Promise<Response> {
    const params = { runtime_id: this.#runtimeId, command_id: commandId }
    return this.#transport.open('readOutput', {
      signal,
      params,
      query: { cursor, follow: true },
      headers: { accept: eventStream },
    })
  }
}

async function* noteStart(
  items: AsyncIterable<OutputItem>,
  started: { commandId?: string },
): AsyncGenerator<OutputItem, void, undefined> {
  for await (const item of items) {
    if (item.type === 'start') started.commandId = item.command_id
    yield item
  }
}

const goneCodes: readonly ErrorCode[] = ['runtime_not_found', 'runtime_terminated', 'command_not_found']

function bodyOf(command: string | readonly string[], options: StreamOptions, background: boolean): StartCommandInput {
  const { signal: _, onAbort: __, ...settings } = options
  return { ...settings, background, ...(typeof command === 'string' ? { command } : { argv: [...command] }) }
}
