import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addComplete } from './commands/complete.ts'
import { addCompletion } from './commands/completion.ts'
import { addCp } from './commands/cp.ts'
import { addCreate } from './commands/create.ts'
import { addDoctor } from './commands/doctor.ts'
import { addDown } from './commands/down.ts'
import { addExec } from './commands/exec.ts'
import { addGet } from './commands/get.ts'
import { addKey } from './commands/key.ts'
import { addLogs } from './commands/logs.ts'
import { addLs } from './commands/ls.ts'
import { addPs } from './commands/ps.ts'
import { addRm } from './commands/rm.ts'
import { addRun } from './commands/run.ts'
import { addStatus } from './commands/status.ts'
import { addTemplate } from './commands/template.ts'
import { addUp } from './commands/up.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

const environment = `
Environment:
  HOLT_URL, HOLT_API_KEY   where the service is, and the key; default: what \`holt up\` left in the state directory
  HOLT_STATE_DIR           the state directory (default /var/lib/holt)
  NO_COLOR                 no colours

Exit codes: 0 success, 1 failure, 2 wrong usage. run and exec: the command's own, 124 timed out, 125 Holt itself failed.`

/** Every verb of the CLI. Without `--` among the arguments, run and exec take options only before the command. */
export function buildProgram(args: readonly string[] = []): Command {
  const program = new Command('holt')
    .description('Runs code that an agent wrote, safely, on your own machine.')
    .version(version, '-V, --version')
    .enablePositionalOptions()
    .showHelpAfterError('(add --help for the options and examples)')
    .exitOverride()
    .addHelpText('after', environment)
  const passThrough = !args.includes('--')

  program.commandsGroup('This machine:')
  addUp(program)
  addDown(program)
  addStatus(program)
  addDoctor(program)
  program.commandsGroup('Runtimes:')
  addRun(program, passThrough)
  addCreate(program)
  addLs(program)
  addGet(program)
  addRm(program)
  program.commandsGroup('Inside a runtime:')
  addExec(program, passThrough)
  addPs(program)
  addLogs(program)
  addCp(program)
  program.commandsGroup('And:')
  addTemplate(program)
  addKey(program)
  addCompletion(program)
  addComplete(program)
  return program
}
