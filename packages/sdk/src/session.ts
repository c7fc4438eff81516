import type { CommandResult, OutputItem } from '@holt/protocol'
import type { CommandHandle } from './command-handle.ts'
import type { CommandOptions, Commands, SessionCommandOptions, StreamOptions } from './commands.ts'
import type { OutputListener } from './content/output.ts'
import { HoltApiError } from './errors/errors.ts'
import { backoffMs, sleep } from './transport/retry.ts'
import type { CallOptions } from './transport/transport.ts'

/**
 * A shell of a runtime. Its commands run one after another, and its directory and variables carry
 * over. A list of arguments may be a builtin of the shell.
 */
export class ShellSession {
  readonly name: string
  readonly #commands: Commands
  readonly #end: (name: string, options: CallOptions) => Promise<void>
  constructor(name: string, commands: Commands, end: (name: string, options: CallOptions) => Promise<void>) {
    this.name = name
    this.#commands = commands
    this.#end = end
  }

  /**
   * Runs a command and waits for its end. `session_kept` is true if the next command begins with
   * the state that it left.
   */
  run(
    command: string | readonly string[],
    options: SessionCommandOptions & Pick<StreamOptions, 'onAbort'> & OutputListener = {},
  ): Promise<CommandResult> {
    return this.#commands.run(command, { ...options, session: this.name })
  }

  /** Starts a command in the background. The next command of the session waits for it. */
  start(command: string | readonly string[], options: SessionCommandOptions = {}): Promise<CommandHandle> {
    return this.#commands.start(command, { ...options, session: this.name })
  }

  /** Runs a command and yields its items as they arrive. */
  stream(
    command: string | readonly string[],
    options: SessionCommandOptions & Pick<StreamOptions, 'onAbort'> = {},
  ): AsyncGenerator<OutputItem, void, undefined> {
    return this.#commands.stream(command, { ...options, session: this.name })
  }

  /** Removes the session and kills the processes that its commands left running. */
  end(options: CallOptions = {}): Promise<void> {
    return this.#end(this.name, options)
  }
}

/**
 * Starts a command, and repeats that while its session is busy. A refused start has run nothing.
 */
export async function whenFree<Started>(
  { session, signal }: CommandOptions,
  start: () => Promise<Started>,
): Promise<Started> {
  for (let tries = 1; ; tries++) {
    try {
      return await start()
    } catch (error) {
      if (session === undefined || !isBusy(error)) throw error
      await sleep(backoffMs(tries), signal)
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof HoltApiError && error.details?.reason === 'session_busy'
}
