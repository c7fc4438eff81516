import type { GuestClient } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import { BuildError } from '../build/contract.ts'
import { StartedCommand } from './started-command.ts'
import { waitUntilListening, waitUntilReady } from './wait-until-ready.ts'

/** The id under which every runtime lists the start command of its template. */
export const startCommandId = 'cmstartcommand00000000'

/** The id under which a runtime lists what its template has run before it is handed over. */
export const onRestoreId = 'cmonrestore00000000000'

/** How much longer than the application's time a guest may take for its answers. */
const graceMs = 30_000

/** What makes an application of an image. */
export interface ApplicationCommands {
  readonly startCmd: string
  readonly readyCmd: string | null
  /** The most that it may take until it is ready. */
  readonly readyTimeoutMs: number
}

/** How a start is watched. */
export interface StartWatch {
  readonly signal: AbortSignal
  /** Each line that the start command writes until it is ready. */
  readonly onLine?: (line: string) => void
}

/**
 * Starts the start command in the background and waits until the application is ready: until
 * `ready_cmd` exits 0, or, where there is none, until something listens on a port, the command has
 * exited 0 with nothing left of it, or some seconds are over. Rejects with `BuildError`
 * `start_cmd_failed`, `ready_cmd_failed` or `ready_timeout`. One that the runtime knows already is
 * not started again.
 */
export async function startApplication(
  guest: GuestClient,
  commands: ApplicationCommands,
  watch: StartWatch,
): Promise<void> {
  const { onLine = () => {} } = watch
  const deadline = performance.now() + commands.readyTimeoutMs
  // A guest that answers nothing, or never ends an answer, holds nobody up.
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

/** What it says of a start command that the guest refuses. */
export function notStarted(error: HoltError): BuildError {
  return new BuildError('start_cmd_failed', `start_cmd could not be started: ${error.message}`, {
    hint: "It is run by /bin/sh as the template's user in the template's workdir: the image needs all three.",
    cause: error,
  })
}
