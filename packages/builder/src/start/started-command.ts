import { setTimeout as sleep } from 'node:timers/promises'
import type { GuestClient, GuestProcess } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import { BuildError } from '../errors.ts'
import { LastOutput } from '../output/last-output.ts'
import { Lines } from '../output/lines.ts'
import { type CommandEnd, endOf, templateCommand, wayOfEnding } from './template-command.ts'

/** The time that the end of a command waits for its last output, in milliseconds. */
const outputMs = 2000

/**
 * A running start command and its output. Disposing it stops the watching, and the command
 * continues.
 */
export class StartedCommand implements Disposable {
  readonly output = new LastOutput()
  /** Aborted with `start_cmd_failed` as soon as the command has ended with anything but 0. */
  readonly failed: AbortSignal
  readonly #guest: GuestClient
  readonly #id: string
  readonly #stopped = new AbortController()
  readonly #failed = new AbortController()
  readonly #following: Promise<void>

  private constructor(guest: GuestClient, id: string, onLine: (line: string) => void) {
    this.#guest = guest
    this.#id = id
    this.failed = this.#failed.signal
    this.#following = this.#follow(onLine)
  }

  /** Starts the command, unless the runtime already knows it. */
  static async start(
    guest: GuestClient,
    { id, command }: { readonly id: string; readonly command: string },
    { signal, onLine }: { readonly signal: AbortSignal; readonly onLine: (line: string) => void },
  ): Promise<StartedCommand> {
    try {
      await guest.processes.start(templateCommand(command, { id, background: true }), signal)
    } catch (error) {
      if (!(error instanceof HoltError) || error.code !== 'already_exists') throw error
    }
    return new StartedCommand(guest, id, onLine)
  }

  now(signal: AbortSignal): Promise<GuestProcess> {
    return this.#guest.processes.get(this.#id, signal)
  }

  /** Throws `start_cmd_failed` if the command has ended with anything but 0. */
  async requireAlive(signal: AbortSignal): Promise<GuestProcess> {
    this.failed.throwIfAborted()
    const process = await this.now(signal)
    if (process.state === 'running' || process.exit_code === 0) return process
    // Its last output may not have arrived yet.
    await Promise.race([this.#following, sleep(outputMs)])
    throw this.#failure(endOf(process))
  }

  [Symbol.dispose](): void {
    this.#stopped.abort()
  }

  async #follow(onLine: (line: string) => void): Promise<void> {
    const lines = new Lines(onLine)
    try {
      const from = { cursor: 0, follow: true }
      for await (const item of await this.#guest.processes.readOutput(this.#id, from, this.#stopped.signal)) {
        if (this.#stopped.signal.aborted) return
        if (item.type === 'stdout' || item.type === 'stderr') {
          const bytes = Buffer.from(item.data, 'base64')
          this.output.add(bytes)
          lines.add(bytes)
        } else if (item.type === 'exit' && item.exit_code !== 0) {
          this.#failed.abort(this.#failure(endOf(item)))
        }
      }
    } catch {
      // Only displayed output is lost: the end of the command is read separately before it is used.
    }
    lines.end()
  }

  #failure(end: Omit<CommandEnd, 'output'>): BuildError {
    return new BuildError(
      'start_cmd_failed',
      `start_cmd ${wayOfEnding(end)} before it was ready. ${this.output.quote()}`,
      {
        hint: end.oomKilled
          ? 'Raise memory.'
          : 'Run it in a runtime of the image to see why. A command that exits 0 may leave processes in the background.',
        details: { exit_code: end.exitCode, signal: end.signal },
      },
    )
  }
}
