import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addAttach } from './commands/attach.ts'
import { addAudit } from './commands/audit.ts'
import { addComplete } from './commands/complete.ts'
import { addCompletion } from './commands/completion.ts'
import { addCp } from './commands/cp.ts'
import { addCreate } from './commands/create.ts'
import { addDoctor } from './commands/doctor.ts'
import { addDown } from './commands/down.ts'
import { addEvents } from './commands/events.ts'
import { addExec } from './commands/exec.ts'
import { addFork } from './commands/fork.ts'
import { addGet } from './commands/get.ts'
import { addKey } from './commands/key.ts'
import { addKill } from './commands/kill.ts'
import { addLogs } from './commands/logs.ts'
import { addLs } from './commands/ls.ts'
import { addNet } from './commands/net.ts'
import { addPause } from './commands/pause.ts'
import { addPolicy } from './commands/policy.ts'
import { addPort } from './commands/port.ts'
import { addProject } from './commands/project.ts'
import { addProvider } from './commands/provider.ts'
import { addPs } from './commands/ps.ts'
import { addResume } from './commands/resume.ts'
import { addRm } from './commands/rm.ts'
import { addRun } from './commands/run.ts'
import { addSecret } from './commands/secret.ts'
import { addSession } from './commands/session.ts'
import { addSet } from './commands/set.ts'
import { addShell } from './commands/shell.ts'
import { addSnapshot } from './commands/snapshot.ts'
import { addStats } from './commands/stats.ts'
import { addStatus } from './commands/status.ts'
import { addSync } from './commands/sync.ts'
import { addTemplate } from './commands/template.ts'
import { addTransfer } from './commands/transfer.ts'
import { addUp } from './commands/up.ts'
import { addWatch } from './commands/watch.ts'
import { addWebhook } from './commands/webhook.ts'
import { addWhoami } from './commands/whoami.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

const environment = `
Environment:
  HOLT_URL, HOLT_API_KEY   where the service is, and the key; default: what \`holt up\` left in the state directory
  HOLT_STATE_DIR           the state directory (default /var/lib/holt)
  HOLT_PORT                where \`holt up\` has the service listen (default 4658); it takes all settings of the service, which the README lists
  NO_COLOR                 no colours

Exit codes: 0 success, 1 failure, 2 wrong usage. run, exec, shell and attach: the command's own, 124 timed out,
125 Holt itself failed, 126 the program cannot be executed, 127 it is not found.`

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
  addTransfer(program)
  program.commandsGroup('Runtimes:')
  addRun(program, passThrough)
  addCreate(program)
  addLs(program)
  addGet(program)
  addStats(program)
  addSet(program)
  addPause(program)
  addResume(program)
  addFork(program)
  addSnapshot(program)
  addRm(program)
  program.commandsGroup('Inside a runtime:')
  addExec(program, passThrough)
  addShell(program)
  addAttach(program)
  addPs(program)
  addLogs(program)
  addKill(program)
  addSession(program)
  addCp(program)
  addSync(program)
  addWatch(program)
  addPort(program)
  program.commandsGroup('Network and secrets:')
  addPolicy(program)
  addNet(program)
  addSecret(program)
  addProvider(program)
  program.commandsGroup('Events:')
  addEvents(program)
  addWebhook(program)
  addAudit(program)
  program.commandsGroup('And:')
  addTemplate(program)
  addKey(program)
  addProject(program)
  addWhoami(program)
  addCompletion(program)
  addComplete(program)
  return program
}
