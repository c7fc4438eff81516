import type { GuestClient } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import { BuildError } from '../errors.ts'
import { StartedCommand } from './started-command.ts'
import { waitUntilListening, waitUntilReady } from './wait-until-ready.ts'

/** The id of the template's start command in every runtime. */
export const startCommandId = 'cmstartcommand00000000'

/** The id of the command that a template runs in a runtime before it is handed over. */
export const onRestoreId = 'cmonrestore00000000000'

/** The time that a guest has for its answers after the application's timeout, in milliseconds. */
const graceMs = 30_000

/** The commands that start the application of an image. */
export interface ApplicationCommands {
  readonly startCmd: string
  readonly readyCmd: string | null
  /** The time until the application has to be ready, in milliseconds. */
  readonly readyTimeoutMs: number
}

/** Options for watching a start. */
export interface StartWatch {
  readonly signal: AbortSignal
  /** Called for each line that the start command writes until it is ready. */
  readonly onLine?: (line: string) => void
}

/**
 * Starts the start command in the background and waits until the application is ready: until
 * `ready_cmd` exits 0. Without one, the application is ready if it listens on a port, or if the
 * command has exited 0 without remaining processes. It is also ready after some seconds. Rejects
 * with `BuildError` `start_cmd_failed`, `ready_cmd_failed` or `ready_timeout`. A command that the
 * runtime already knows is not started again.
 */
export async function startApplication(
  guest: GuestClient,
  commands: ApplicationCommands,
  watch: StartWatch,
): Promise<void> {
  const { onLine = () => {} } = watch
  const deadline = performance.now() + commands.readyTimeoutMs
  // The timeout covers a guest that does not answer, or never ends an answer.
  const signal = AbortSignal.any([watch.signal, AbortSignal.timeout(commands.readyTimeoutMs + graceMs)])
  using started = await start(guest, commands.startCmd, { signal, onLine })
  const { readyCmd, readyTimeoutMs } = commands
  const wait = { started, deadline, readyTimeoutMs, signal }
  try {
    await (readyCmd === null ? waitUntilListening(guest, wait) : waitUntilReady(guest, readyCmd, wait))
    await started.requireAlive(signal)
  } catch (error) {
    signal.throwIfAborted()
    throw error
  }
}

async function start(guest: GuestClient, command: string, watch: Required<StartWatch>): Promise<StartedCommand> {
  try {
    return await StartedCommand.start(guest, { id: startCommandId, command }, watch)
  } catch (error) {
    if (error instanceof HoltError && error.status < 500) throw notStarted(error)
    throw error
  }
}

/** Returns the error for a start command that the guest refuses. */
export function notStarted(error: HoltError): BuildError {
  return new BuildError('start_cmd_failed', `start_cmd could not be started: ${error.message}`, {
    hint: "/bin/sh runs it as the template's user in the template's workdir. The image needs all three.",
    cause: error,
  })
}
