import { startCommandId, templateCommand } from '@holt/builder'
import { HoltError } from '@holt/protocol'
import type { OpenRuntime } from '../../runtimes/links/open-guest.ts'
import { sourceSettingsOf } from '../../runtimes/state/source-settings.ts'
import { bridgePort } from './bridge-connections.ts'

/** The time for a bridge to listen after its start, in milliseconds. A busy host needs seconds. */
const listenTimeoutMs = 30_000

/**
 * Starts the template's start command again if a signal has ended it, and waits for the bridge.
 * Code can kill all programs of its user. Returns false if there is no such command, if it runs, or
 * if it ended by itself. A command that only prepares something does that.
 */
export async function reviveInterpreter({ row, guest }: OpenRuntime, signal: AbortSignal): Promise<boolean> {
  const { startCmd } = sourceSettingsOf(row).commands
  if (startCmd === null || !(await wasKilled({ guest }, signal))) return false
  // A second one that starts meanwhile finds the port in use, and ends.
  await guest.processes.start(templateCommand(startCmd, { background: true }), signal)
  return guest.ports.wait(bridgePort, listenTimeoutMs, signal)
}

async function wasKilled({ guest }: Pick<OpenRuntime, 'guest'>, signal: AbortSignal): Promise<boolean> {
  try {
    return (await guest.processes.get(startCommandId, signal)).signal !== null
  } catch (error) {
    if (error instanceof HoltError && error.code === 'command_not_found') return false // It is long over.
    throw error
  }
}
