import type { Command } from '@holt/sdk'
import { shellWord } from '../parts/shell-word.ts'

/** Returns the command line of a command. */
export function lineOf({ command, argv }: Pick<Command, 'command' | 'argv'>): string {
  return command ?? (argv ?? []).map(shellWord).join(' ')
}

/** Returns the state of a command in words: that it runs, or how it has ended. */
export function stateText(command: Command): string {
  const { state, exit_code, signal, timed_out, oom_killed } = command
  if (state === 'running') return 'running'
  const how = timed_out ? 'timed out' : signal !== null ? `ended by ${signal}` : endText(exit_code)
  return oom_killed ? `${how}, out of memory` : how
}

function endText(exitCode: number | null): string {
  return exitCode === null ? 'ended' : `exit code ${exitCode}`
}

/** Returns the class of a command's state. */
export function stateClass({ state, exit_code }: Pick<Command, 'state' | 'exit_code'>): string {
  if (state === 'running') return 'running'
  return exit_code === 0 ? '' : 'failed'
}
