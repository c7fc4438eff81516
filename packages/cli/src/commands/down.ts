import type { Command } from 'commander'
import { runDaemonVerb } from '../daemon/run-daemon-verb.ts'
import { findDaemon, findUnit } from '../daemon/state.ts'
import { stopProcess } from '../daemon/stop-daemon.ts'
import { printJson, say } from '../output/print.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  holt down          stop the service; runtimes keep running, and the next \`holt up\` adopts them
  holt down --all    stop it and remove every runtime and everything it made in the kernel

If systemd runs the service, use systemctl stop instead. Otherwise systemd starts it again.`

/** Adds `holt down`, which stops the service. */
export function addDown(program: Command): void {
  const command = program
    .command('down')
    .description('stop the service; runtimes keep running without it')
    .option('--all', 'remove every runtime and kernel object of the installation as well')
    .option(
      '--state-dir <path>',
      'the state directory of the installation (default: HOLT_STATE_DIR, else /var/lib/holt)',
    )
    .option('--json', 'print the result as JSON')
    .addHelpText('after', examples)
  act(command, async (options: { all?: boolean; stateDir?: string; json?: boolean }) => {
    if (options.stateDir !== undefined) process.env.HOLT_STATE_DIR = options.stateDir
    const daemon = await findDaemon()
    const unit = await findUnit()
    if (daemon !== null && unit !== null) {
      throw new Error(
        `systemd runs holtd and would start it again at once, so nothing was stopped. Stop it with: systemctl stop ${unit}`,
      )
    }
    const how = daemon === null ? 'not_running' : await stopProcess(daemon.pid)
    if (how === 'not_running') say(unit === null ? 'holtd does not run' : notNow(unit))
    else say(how === 'ended' ? 'holtd has stopped' : 'holtd did not stop in time and was killed')
    const exitCode = options.all === true ? await runDaemonVerb(['purge']) : 0
    if (options.all === true && exitCode === 0) say('its runtimes and all its kernel objects are removed')
    if (options.json === true) printJson({ daemon: how, purged: options.all === true && exitCode === 0 })
    return exitCode
  })
}

/** Returns the message for a unit whose last service has not ended in order. */
function notNow(unit: string): string {
  return `holtd does not run now, but systemd may start it again. Stop it there: systemctl stop ${unit}`
}
