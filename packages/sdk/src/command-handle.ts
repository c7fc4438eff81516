import type { Command, CommandResult, OutputItem, SendSignalInput, TerminalSize } from '@holt/protocol'
import { collectOutput, type OutputLimit, type OutputListener, resultOf } from './content/output.ts'
import { type ByteSource, StdinWriter } from './stdin-writer.ts'
import { type AttachOptions, Terminal } from './terminal/terminal.ts'
import { eventStream, resumeItems } from './transport/item-stream.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/** A command of a runtime: its last known state, and the actions on it. */
export type CommandHandle = Readonly<Command> & CommandActions

/** The options for reading output. */
export interface FollowOptions extends CallOptions {
  /** The cursor after which reading begins. Default: all kept output is read. */
  readonly cursor?: number
  /** True if reading continues until the command has ended. Default true. */
  readonly follow?: boolean
}

/** The options for waiting for a command. */
export type WaitOptions = CallOptions & OutputListener & OutputLimit

/** The actions on a command. */
class CommandActions {
  readonly #transport: Transport
  readonly #runtimeId: string
  readonly #stdin: StdinWriter
  #data: Command

  constructor(transport: Transport, { runtimeId, data, stdinOffset }: CommandFacts) {
    this.#transport = transport
    this.#runtimeId = runtimeId
    this.#data = data
    this.#stdin = new StdinWriter(transport, this.#params, stdinOffset ?? null)
  }

  /**
   * Yields output from any point that is kept. After a broken connection it reconnects and
   * continues after the last item.
   */
  output(options: FollowOptions = {}): AsyncGenerator<OutputItem, void, undefined> {
    const { signal, cursor = 0, follow = true } = options
    const open = (from: number) =>
      this.#transport.open('readOutput', {
        signal,
        params: this.#params,
        query: { cursor: from, follow },
        headers: { accept: eventStream },
      })
    return resumeItems<OutputItem>({ open, cursor, resumeTimeoutMs: this.#transport.options.resumeTimeoutMs, signal })
  }

  /**
   * Waits for the end and returns the result, with up to `max_output_bytes` (1 MiB) of the kept
   * output of each stream. Aborting `signal`, such as `AbortSignal.timeout(30_000)`, ends the wait,
   * and the command continues.
   */
  async wait(options: WaitOptions = {}): Promise<CommandResult> {
    const { signal, ...rest } = options
    const output = await collectOutput(this.output({ signal }), rest)
    if (output.command === undefined) await this.refresh({ signal })
    else this.#take(output.command)
    return resultOf(this.#data, output)
  }

  /** Reads the command again into this object. */
  async refresh(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('getCommand', { ...options, params: this.#params }))
  }

  /**
   * Writes all data to an open stdin (`stdin: true`), at the speed of the command. After a broken
   * connection the data is sent again and written once. Returns the number of bytes.
   */
  async writeStdin(data: string | Uint8Array, options: CallOptions & { readonly eof?: boolean } = {}): Promise<number> {
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
    await this.#stdin.write(bytes, options)
    return bytes.length
  }

  /**
   * Writes everything of a Node stream, a Web stream or a generator to an open stdin, and closes
   * it.
   */
  async pipeStdin(source: ByteSource, options: CallOptions = {}): Promise<void> {
    await this.#stdin.pipe(source, options)
  }

  /** Closes an open stdin. */
  async closeStdin(options: CallOptions = {}): Promise<void> {
    await this.writeStdin('', { ...options, eof: true })
  }

  /** Attaches to the command: output from any point that is kept and, with `write`, input. */
  attach(options: AttachOptions = {}): Promise<Terminal> {
    return Terminal.open(this.#transport, this.#params, options)
  }

  /** Changes the size of the command's terminal. */
  async resize(size: TerminalSize, options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('resizeTerminal', { ...options, params: this.#params, json: size }))
  }

  /** Sends a signal to the command's process group. */
  async sendSignal(signal: SendSignalInput['signal'], options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('sendSignal', { ...options, params: this.#params, json: { signal } }))
  }

  /** Kills every process of the command. */
  async kill(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('killCommand', { ...options, params: this.#params }))
  }

  /** Returns the API's own object. */
  toJSON(): Command {
    return this.#data
  }

  get #params() {
    return { runtime_id: this.#runtimeId, command_id: this.#data.command_id }
  }

  #take(data: Command): void {
    this.#data = data
    Object.assign(this, data)
  }
}

/** The facts about a command. */
export interface CommandFacts {
  readonly runtimeId: string
  readonly data: Command
  /** The bytes that its stdin has taken, if known. */
  readonly stdinOffset?: number
}

/** Returns the handle of a command from the service's answer. */
export function makeCommandHandle(transport: Transport, facts: CommandFacts): CommandHandle {
  return Object.assign(new CommandActions(transport, facts), facts.data)
}
