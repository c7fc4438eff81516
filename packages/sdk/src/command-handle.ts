import type { Command, CommandResult, OutputItem, SendSignalInput } from '@holt/protocol'
import { eventStream, resumeItems } from './item-stream.ts'
import { collectOutput, type OutputListener } from './output.ts'
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
export type WaitOptions = CallOptions & OutputListener

/** What can be done with a command. */
class CommandActions {
  readonly #transport: Transport
  readonly #runtimeId: string
  #data: Command

  constructor(transport: Transport, runtimeId: string, data: Command) {
    this.#transport = transport
    this.#runtimeId = runtimeId
    this.#data = data
  }

  /** Yields output from any point that is kept. A broken connection is made again after the last item. */
  output(options: FollowOptions = {}): AsyncGenerator<OutputItem, void, undefined> {
    const { signal, cursor = 0, follow = true } = options
    const open = (from: number) =>
      this.#transport.open('readOutput', {
        signal,
        params: this.#params,
        query: { cursor: from, follow },
        headers: { accept: eventStream },
      })
    return resumeItems({ open, cursor, resumeTimeoutMs: this.#transport.options.resumeTimeoutMs, signal })
  }

  /** Waits for the end and answers the result, with up to 1 MiB of what is kept of each stream. */
  async wait(options: WaitOptions = {}): Promise<CommandResult> {
    const { signal, ...listener } = options
    const output = await collectOutput(this.output({ signal }), listener)
    await this.refresh({ signal })
    return { ...this.#data, ...output }
  }

  /** Reads the command again into this object. */
  async refresh(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('getCommand', { ...options, params: this.#params }))
  }

  /** Writes to a stdin that was kept open (`stdin: true`). Bytes arrive as they are. */
  async writeStdin(data: string | Uint8Array, options: CallOptions & { readonly eof?: boolean } = {}): Promise<number> {
    const { signal, eof = false } = options
    const encoded = typeof data === 'string' ? { data } : { data: base64(data), encoding: 'base64' as const }
    const answer = await this.#transport.call('writeStdin', { signal, params: this.#params, json: { ...encoded, eof } })
    return answer.written_bytes
  }

  /** Closes a stdin that was kept open. */
  async closeStdin(options: CallOptions = {}): Promise<void> {
    await this.writeStdin('', { ...options, eof: true })
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

/** Makes the handle of a command from what the service said. */
export function makeCommandHandle(transport: Transport, runtimeId: string, data: Command): CommandHandle {
  return Object.assign(new CommandActions(transport, runtimeId, data), data)
}

function base64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(text)
}
