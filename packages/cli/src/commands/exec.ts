import type { Command } from 'commander'
import { dropUndefined } from '../arguments/create-options.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { environmentVariable, notNegative } from '../arguments/parse.ts'
import { connect } from '../connect.ts'
import { Interrupts } from '../interrupts.ts'
import { print, printJson } from '../output/print.ts'
import { exitCodeOf, runAttached } from '../run-attached.ts'
import { act, holtFailedExitCode } from '../verb.ts'

interface ExecOptions {
  readonly background?: boolean
  readonly user?: string
  readonly cwd?: string
  readonly env?: Record<string, string>
  readonly timeout: number
  readonly json?: boolean
}

const examples = `
Examples:
  holt exec mine -- ls -la /workspace
  holt exec --user root mine -- apt-get install -y ./package.deb
  holt exec -d mine -- python server.py     (prints the command's id; see holt logs)
  tar -C src -c . | holt exec mine -- tar -C /workspace -x`

/** Adds `holt exec`: run a command in a runtime. */
export function addExec(program: Command, passThrough: boolean): void {
  const command = program
    .command('exec')
    .description('run a command in a runtime')
    .argument('<runtime>', 'id, beginning of an id, or name')
    .argument('<command...>', 'the command and its arguments, after --')
    .option('-d, --background', "start it, print the command's id, and do not wait")
    .option('-u, --user <user>', "user name, uid or uid:gid (default: the template's)")
    .option('-w, --cwd <path>', "working directory (default: the template's)")
    .option(
      '-e, --env <KEY=VALUE>',
      'environment variable; KEY alone passes on its value here; repeat',
      environmentVariable,
    )
    .option('--timeout <seconds>', 'kill the command after so long; 0: never', notNegative, 0)
    .option('--json', "print the command's result as JSON instead of its output")
    .addHelpText('after', examples)
    .passThroughOptions(passThrough)
  act(command, execInRuntime, { failure: holtFailedExitCode })
}

async function execInRuntime(text: string, argv: string[], options: ExecOptions): Promise<number> {
  using interrupts = new Interrupts()
  const runtime = await findRuntime(connect(), text)
  const how = dropUndefined({ user: options.user, cwd: options.cwd, env: options.env, timeout_secs: options.timeout })
  if (options.background === true) {
    const started = await runtime.commands.start(argv, how)
    if (options.json === true) printJson(started)
    else print(started.command_id)
    return 0
  }
  // Awaited, so that signals are held back until the command has ended.
  if (options.json !== true) return await runAttached({ runtime, argv, options: how, interrupts })
  const result = await runtime.commands.run(argv, how)
  printJson(result)
  return exitCodeOf(result)
}
