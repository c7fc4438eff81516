import type { Command } from 'commander'
import { dropUndefined } from '../arguments/create-options.ts'
import { addEnvironmentOptions, type EnvironmentOptions, environmentOf } from '../arguments/environment-options.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connection/connect.ts'
import { shellWord } from '../shell/shell-word.ts'
import { isInteractive, localSize } from '../terminal/local-terminal.ts'
import { useTerminal } from '../terminal/use-terminal.ts'
import { act, holtFailedExitCode, UsageError } from '../verb/verb.ts'
import { attachTo } from './attach.ts'

interface ShellOptions extends EnvironmentOptions {
  readonly attach?: string
  readonly user?: string
  readonly cwd?: string
}

const examples = `
Examples:
  holt shell mine
  holt shell mine --user root
  holt shell mine -- python
  holt shell mine --attach cm4f…     (return to a command that you left with Ctrl-P Ctrl-Q; see holt ps)`

/** The login shell of the command's user, which the guest has set as SHELL. */
const loginShell = ['/bin/sh', '-c', `exec "$\{SHELL:-/bin/sh}" -l`]

/** Adds `holt shell`, which opens a terminal in a runtime. */
export function addShell(program: Command): void {
  const command = program
    .command('shell')
    .description('open a terminal in a runtime')
    .argument('<runtime>', 'id, beginning of an id, or name')
    .argument('[argv...]', "a command and its arguments, after -- (default: the user's login shell)")
    .option('--attach <command>', 'return to a command that has a terminal: its id, or the beginning of it')
    .option('-u, --user <user>', "user name, uid or uid:gid (default: the template's)")
    .option('-w, --cwd <path>', "working directory (default: the template's)")
  addEnvironmentOptions(command)
  command.addHelpText('after', examples)
  act(command, openShell, { failure: holtFailedExitCode })
}

async function openShell(text: string, argv: string[], options: ShellOptions): Promise<number> {
  if (!isInteractive()) throw new UsageError(`stdin is not a terminal. Use: holt exec ${shellWord(text)} -- COMMAND`)
  const { attach, user, cwd, ...rest } = options
  if (attach !== undefined) return attachTo(text, attach, { takeover: false, watch: false })
  const runtime = await findRuntime(connect(), text)
  const command = await runtime.commands.start(argv.length === 0 ? loginShell : argv, {
    ...dropUndefined({ user, cwd, env: environmentOf(rest) }),
    pty: localSize(),
  })
  return useTerminal({ command, runtimeName: text, write: true, takeover: false })
}
