import type { Command } from 'commander'
import { dropUndefined } from '../arguments/create-options.ts'
import { addEnvironmentOptions, type EnvironmentOptions, environmentOf } from '../arguments/environment-options.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { seconds } from '../arguments/parse.ts'
import { type Ulimits, ulimit } from '../arguments/ulimit.ts'
import { connect } from '../connection/connect.ts'
import { print, printJson } from '../output/print.ts'
import {
  exitCodeOf,
  explainingLines,
  failureExitCode,
  runAttached,
  tellNotKept,
  tellOutOfMemory,
} from '../running/run-attached.ts'
import { OutputTail, tellOfDenials } from '../running/tell-of-denials.ts'
import { shellWord } from '../shell/shell-word.ts'
import { isInteractive, localSize } from '../terminal/local-terminal.ts'
import { useTerminal } from '../terminal/use-terminal.ts'
import { Interrupts } from '../verb/interrupts.ts'
import { act, UsageError } from '../verb/verb.ts'

interface ExecOptions extends EnvironmentOptions {
  readonly background?: boolean
  readonly user?: string
  readonly cwd?: string
  readonly timeout: number
  readonly ulimit?: Ulimits
  readonly session?: string
  readonly json?: boolean
  readonly interactive?: boolean
  readonly tty?: boolean
}

const examples = `
Examples:
  holt exec mine -- ls -la /workspace
  holt exec --user root mine -- apt-get install -y ./package.deb
  holt exec -d mine -- python server.py     (prints the command's id; see holt logs)
  holt exec -it mine -- top                 (in a terminal; see holt shell)
  tar -C src -c . | holt exec mine -- tar -C /workspace -x
  holt exec --ulimit nofile=256 --ulimit cpu=10:20 mine -- ./tests
  holt exec --session dev mine -- 'cd src && export CI=1'   (the next command of the session begins there; see holt session)
  holt exec --session dev mine -- make test`

/** Adds `holt exec`, which runs a command in a runtime. */
export function addExec(program: Command, passThrough: boolean): void {
  const command = program
    .command('exec')
    .description('run a command in a runtime')
    .argument('<runtime>', 'id, beginning of an id, or name')
    .argument('<command...>', 'the command and its arguments, after --')
    .option('-d, --background', "start it, print the command's id, and do not wait")
    .option('-i, --interactive', 'pass typed input to the command; piped input is always passed')
    .option('-t, --tty', 'run it in a terminal')
    .option('-u, --user <user>', "user name, uid or uid:gid (default: the template's)")
    .option('-w, --cwd <path>', "working directory (default: the template's)")
  addEnvironmentOptions(command)
  command
    .option(
      '--session <name>',
      'run in the shell session of this name, after its other commands; a single argument is a shell line',
    )
    .option('--ulimit <name=soft[:hard]>', 'a resource limit, as of ulimit(1); repeatable', ulimit)
    .option('--timeout <duration>', 'kill the command after this time: 90, 30m, 2h; 0: never', seconds, 0)
    .option('--json', "print the command's result as JSON instead of its output")
    .addHelpText('after', examples)
    .passThroughOptions(passThrough)
  act(
    command,
    (text: string, argv: string[], options: ExecOptions) =>
      explainingLines(argv, `holt exec ${shellWord(text)}`, () => execInRuntime(text, argv, options)),
    {
      failure: failureExitCode,
    },
  )
}

async function execInRuntime(text: string, argv: string[], options: ExecOptions): Promise<number> {
  if (options.tty === true) return execInTerminal(text, argv, options)
  using interrupts = new Interrupts()
  const runtime = await findRuntime(connect(), text)
  const how = howOf(options)
  const { session, interactive = false } = options
  const [line = '', ...more] = argv
  const command = session !== undefined && more.length === 0 ? line : argv
  if (options.background === true) {
    const started = await runtime.commands.start(command, how)
    if (options.json === true) printJson(started)
    else print(started.command_id)
    return 0
  }
  // Awaited, so that signals are held back until the command has ended.
  if (options.json !== true) return await runAttached({ runtime, command, options: how, interrupts, interactive })
  const result = await runtime.commands.run(command, how)
  if (result.session_kept === false) tellNotKept()
  if (result.oom_killed) tellOutOfMemory(runtime)
  printJson(result)
  const exitCode = exitCodeOf(result)
  if (exitCode !== 0) {
    const output = new OutputTail(result.stdout + result.stderr)
    await tellOfDenials({ runtime, startedAt: result.started_at, output })
  }
  return exitCode
}

/**
 * Runs the command in a terminal, with the local one as its screen and keyboard. `--background`
 * needs no local terminal.
 */
async function execInTerminal(text: string, argv: string[], options: ExecOptions): Promise<number> {
  if (options.json === true) throw new UsageError('Give one of --tty and --json: a terminal shows its output.')
  // Without a local terminal, the end of the input would be typed. It would be lost if the command
  // does not read yet.
  if (options.background !== true && !isInteractive())
    throw new UsageError(`stdin is not a terminal. Leave --tty out: holt exec ${shellWord(text)} -- COMMAND`)
  const runtime = await findRuntime(connect(), text)
  const command = await runtime.commands.start(argv, { ...howOf(options), pty: localSize() })
  if (options.background !== true) return useTerminal({ command, runtimeName: text, write: true, takeover: false })
  print(command.command_id)
  return 0
}

function howOf({ user, cwd, session, timeout, ulimit, ...rest }: ExecOptions) {
  return dropUndefined({ user, cwd, env: environmentOf(rest), session, timeout_secs: timeout, rlimits: ulimit })
}
