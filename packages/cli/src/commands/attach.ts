import type { Command } from 'commander'
import { findCommand } from '../arguments/find-command.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connection/connect.ts'
import { useTerminal } from '../terminal/use-terminal.ts'
import { act, holtFailedExitCode, UsageError } from '../verb/verb.ts'

/** The options of an attachment. */
export interface AttachChoice {
  readonly takeover?: boolean
  readonly watch?: boolean
}

const examples = `
Examples:
  holt attach mine                       the newest command that runs
  holt attach mine cm4f…                 another one
  holt attach mine cm4f… --watch         look on, while somebody else types
  holt attach mine cm4f… --takeover      type; who did so until now watches`

/** Adds `holt attach`, which attaches to a running command. */
export function addAttach(program: Command): void {
  const command = program
    .command('attach')
    .description('attach to a running command: type into it, and see its output')
    .argument('<runtime>', 'id, beginning of an id, or name')
    .argument('[command]', "a command's id, or the beginning of it (default: the newest running one)")
    .option('--takeover', 'type, even if another attachment types')
    .option('--watch', 'do not type')
    .addHelpText('after', examples)
  act(command, attachTo, { failure: holtFailedExitCode })
}

/** Attaches this terminal to a command, and returns the exit code for the shell. */
export async function attachTo(text: string, commandText: string | undefined, choice: AttachChoice): Promise<number> {
  const { takeover = false, watch = false } = choice
  if (takeover && watch) throw new UsageError('Give one of --takeover (types) and --watch (does not).')
  const runtime = await findRuntime(connect(), text)
  const command = await findCommand(runtime, commandText, commandText === undefined ? 'running' : undefined)
  return useTerminal({ command, runtimeName: text, write: !watch, takeover })
}
