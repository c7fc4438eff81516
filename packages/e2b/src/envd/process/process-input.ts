import { ConnectError } from '../../errors/connect-error.ts'
import type { FoundProcess, Processes, ProcessName } from '../backend/processes.ts'
import type { Input, Selector } from './process-messages.ts'

/** Returns the process that a request names. Throws `not_found` if there is none. */
export async function findProcess(
  processes: Processes,
  selector: Selector,
  signal: AbortSignal,
): Promise<FoundProcess> {
  const name = nameOf(selector)
  const found = await processes.find(name, signal)
  if (found === null) throw missing(name)
  return found
}

/** Returns the process that a request names, if it runs. Throws `not_found` if it does not. */
export async function findRunning(
  processes: Processes,
  selector: Selector,
  signal: AbortSignal,
): Promise<FoundProcess> {
  const found = await findProcess(processes, selector, signal)
  if (found.end !== null) throw ended(found)
  return found
}

/** Writes an input to a process. Waits while the process does not read. */
export async function writeInput(process: FoundProcess, { stdin, pty }: Input, signal: AbortSignal): Promise<void> {
  const data = stdin ?? pty
  if (data === undefined) throw new ConnectError('invalid_argument', 'The input must have the field stdin or pty.')
  if (process.isTerminal && stdin !== undefined)
    throw new ConnectError('internal', `The process ${process.pid} has a terminal. Send its input as pty.`)
  if (!process.isTerminal && pty !== undefined)
    throw new ConnectError('internal', `The process ${process.pid} has no terminal. Send its input as stdin.`)
  if (data.length === 0) return
  const written = await process.write(data, signal)
  if (written === 'ended') throw ended(process)
  if (written === 'closed') throw new ConnectError('internal', `The stdin of the process ${process.pid} is not open.`)
}

/** Closes the stdin of a process. A closed one is success. */
export async function closeInput(process: FoundProcess, signal: AbortSignal): Promise<void> {
  if (process.isTerminal)
    throw new ConnectError('unknown', 'A terminal has no stdin to close. Send the byte 0x04 (Ctrl+D) as pty.')
  if ((await process.closeInput(signal)) === 'ended') throw ended(process)
}

/** Returns the error for a process that has ended. */
export function ended({ pid }: FoundProcess): ConnectError {
  return new ConnectError('not_found', `process with pid ${pid} not found: it has ended`)
}

function nameOf({ pid, tag }: Selector): ProcessName {
  if (pid !== undefined) return { pid }
  if (tag !== undefined && tag !== '') return { tag }
  throw new ConnectError('invalid_argument', 'The process must have the field pid or tag.')
}

function missing(name: ProcessName): ConnectError {
  const words = 'pid' in name ? `pid ${name.pid}` : `tag ${JSON.stringify(name.tag)}`
  return new ConnectError('not_found', `process with ${words} not found`)
}
