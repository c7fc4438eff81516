import type { Command, CommandResult, OutputItem, SendSignalInput, TerminalSize } from '@holt/protocol'
import { eventStream, resumeItems } from './item-stream.ts'
import { collectOutput, type OutputLimit, type OutputListener, resultOf } from './output.ts'
import { type ByteSource, StdinWriter } from './stdin-writer.ts'
import { type AttachOptions, Terminal } from './terminal/terminal.ts'
import type { CallOptions, Transport } from './transport.ts'

/** A command of a runtime: what the service said of it last, and what can be done with it. */
export type CommandHandle = Readonly<Command> & CommandActions

/** From where output is read, and whether to stay until the end. */
export interface FollowOptions extends CallOptions {
  /** Begin after the item with this cursor. Default: everything that is kept. */
  readonly cursor?: number
  /** Stay until the command has ended. Default true. */
  readonly follow?: boolean
}

/** How a command is waited for. */
export type WaitOptions = CallOptions & OutputListener & OutputLimit

/** What can be done with a command. */
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
   * Yields output from any point that is kept. A broken connection is made again after the last
   * item.
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
   * Waits for the end and answers the result, with up to `max_output_bytes` (1 MiB) of what is kept
   * of each stream.
   */
  async wait(options: WaitOptions = {}): Promise<CommandResult> {
    const { signal, ...rest } = options
    const output = await collectOutput(this.output({ signal }), rest)
    await this.refresh({ signal })
    return resultOf(this.#data, output)
  }

  /** Reads the command again into this object. */
  async refresh(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('getCommand', { ...options, params: this.#params }))
  }

  /**
   * Writes to a stdin that was kept open (`stdin: true`), all of it, however slowly the command
   * reads. Over a broken connection it is sent again and typed once. Answers how many bytes that
   * were.
   */
  async writeStdin(data: string | Uint8Array, options: CallOptions & { readonly eof?: boolean } = {}): Promise<number> {
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
    await this.#stdin.write(bytes, options)
    return bytes.length
  }

  /**
   * Passes on everything of a Node stream, a Web stream or a generator to a stdin that was kept
   * open, and closes it.
   */
  async pipeStdin(source: ByteSource, options: CallOptions = {}): Promise<void> {
    await this.#stdin.pipe(source, options)
  }

  /** Closes a stdin that was kept open. */
  async closeStdin(options: CallOptions = {}): Promise<void> {
    await this.writeStdin('', { ...options, eof: true })
  }

  /** Attaches: output from any point that is kept, and, where asked for, input. */
  attach(options: AttachOptions = {}): Promise<Terminal> {
    return Terminal.open(this.#transport, this.#params, options)
  }

  /** Changes the size of its terminal. */
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

  /** The API's own object. */
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

/** What is known of a command. */
export interface CommandFacts {
  readonly runtimeId: string
  readonly data: Command
  /** What its stdin has taken, where that is known. */
  readonly stdinOffset?: number
}

/** Makes the handle of a command from what the service said. */
export function makeCommandHandle(transport: Transport, facts: CommandFacts): CommandHandle {
  return Object.assign(new CommandActions(transport, facts), facts.data)
}
