import type { Command } from 'commander'
import { runDaemonVerb } from '../daemon/run-daemon-verb.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  holt doctor
  holt doctor --json`

/**
 * Adds `holt doctor`, which reports the abilities and gaps of this machine. The service itself
 * checks them, so the two never disagree.
 */
export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('check this machine; a line that begins with FIX: has the command that repairs a fault')
    .option(
      '--state-dir <path>',
      'the state directory of the installation (default: HOLT_STATE_DIR, else /var/lib/holt)',
    )
    .option('--json', 'print the checks as JSON')
    .addHelpText('after', examples)
  act(command, async (options: { stateDir?: string; json?: boolean }) => {
    if (options.stateDir !== undefined) process.env.HOLT_STATE_DIR = options.stateDir
    return runDaemonVerb(options.json === true ? ['doctor', '--json'] : ['doctor'])
  })
}
