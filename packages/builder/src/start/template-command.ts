import type { GuestClient, GuestProcess, StartProcess } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import { LastOutput } from '../output/last-output.ts'

/** The end of a command. */
export interface CommandEnd {
  /** The exit code, or null if it is not known. */
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  /** True if one of its processes was killed because the runtime was out of memory. */
  readonly oomKilled: boolean
  readonly output: LastOutput
}

/**
 * Returns the request for a command of the template, with its shell, user, directory and
 * environment.
 */
export function templateCommand(command: string, change: Partial<StartProcess> = {}): StartProcess {
  return {
    id: makeId('command'),
    command,
    argv: null,
    cwd: null,
    env: null,
    user: null,
    stdin: 'none',
    stdin_data: null,
    timeout_ms: 0,
    ring_bytes: null,
    pty: null,
    await_reader: false,
    ...change,
  }
}

/** Runs a command to its end. Rejects if it cannot be started. */
export async function runTemplateCommand(
  guest: GuestClient,
  request: StartProcess,
  signal: AbortSignal,
): Promise<CommandEnd> {
  const output = new LastOutput()
  for await (const item of await guest.processes.run(request, signal)) {
    if (item.type === 'stdout' || item.type === 'stderr') output.add(Buffer.from(item.data, 'base64'))
    if (item.type === 'exit') return { ...endOf(item), output }
  }
  return { exitCode: null, signal: null, timedOut: false, oomKilled: false, output }
}

/** Converts the guest's report on the end of a command. */
export function endOf(
  said: Pick<GuestProcess, 'exit_code' | 'signal' | 'timed_out'> & { readonly oom_killed?: boolean | undefined },
): Omit<CommandEnd, 'output'> {
  const { exit_code: exitCode, signal, timed_out: timedOut, oom_killed: oomKilled = false } = said
  return { exitCode, signal, timedOut, oomKilled }
}

/** Returns the way in which a command ended, for people. */
export function wayOfEnding({ exitCode, signal, timedOut, oomKilled }: Omit<CommandEnd, 'output'>): string {
  if (oomKilled) return 'needed more memory than its runtime has, and was ended'
  if (timedOut) return 'took too long and was killed'
  if (signal !== null) return `was ended by ${signal}`
  return exitCode === null ? 'ended in a way that is not known' : `exited with code ${exitCode}`
}
