import type { Command } from 'commander'
import { runDaemonVerb } from '../daemon/run-daemon-verb.ts'
import { findDaemon, findUnit, lastUnit } from '../daemon/state.ts'
import { stopProcess } from '../daemon/stop-daemon.ts'
import { say } from '../output/print.ts'
import { ourCommand } from '../shell/our-command.ts'
import { act } from '../verb/verb.ts'

const examples = `
The settings of the fleet come from the environment: HOLT_DATABASE_URL, HOLT_PEER_ADDRESS, and others of docs/settings.md. HOLT_FLEET is set to 1. Runtimes keep running. The old store stays in the state directory, under another name.

The way back: with the settings of the fleet, stop the other hosts and this one, and run holt export FILE. Then, without these settings, run holt import --keep-webhooks FILE and start the service.

Examples:
  HOLT_DATABASE_URL=postgres://holt:PASSWORD@db.example.com/holt HOLT_PEER_ADDRESS=10.1.2.3 holt fleet join --check
  HOLT_DATABASE_URL=postgres://holt:PASSWORD@db.example.com/holt HOLT_PEER_ADDRESS=10.1.2.3 holt fleet join`

/** Adds `holt fleet join`, which makes this machine the first host of a fleet. */
export function addFleetJoin(group: Command): void {
  const command = group
    .command('join')
    .description('make this machine the first host of a fleet: move its store to PostgreSQL; runtimes keep running')
    .option('--check', 'only check; change nothing')
    .option(
      '--state-dir <path>',
      'the state directory of the installation (default: HOLT_STATE_DIR, else /var/lib/holt)',
    )
    .addHelpText('after', examples)
  act(command, async ({ check = false, stateDir }: { check?: boolean; stateDir?: string }) => {
    if (stateDir !== undefined) process.env.HOLT_STATE_DIR = stateDir
    process.env.HOLT_FLEET = '1'
    const checked = await runDaemonVerb(['join', '--check'])
    if (check || checked !== 0) return checked
    await stopService()
    const joined = await runDaemonVerb(['join'])
    if (joined !== 0) {
      say('holt: the service is stopped, and its store was not changed. Start it again with its old settings.')
      return joined
    }
    tellNext(await lastUnit())
    return 0
  })
}

/** Stops the service, so that nothing writes to the store while it is copied. */
async function stopService(): Promise<void> {
  const [daemon, unit] = [await findDaemon(), await findUnit()]
  if (daemon === null) return
  if (unit !== null)
    throw new Error(
      `systemd runs holtd and would start it again, so nothing was changed. Stop it, and repeat this command: systemctl stop ${unit}`,
    )
  await stopProcess(daemon.pid)
  say('holtd has stopped; runtimes keep running')
}

function tellNext(unit: string | null): void {
  const holt = ourCommand()
  say('')
  say('This machine is ready to be the first host of the fleet. Next:')
  say('  1. Keep the settings: put HOLT_FLEET=1, HOLT_DATABASE_URL, HOLT_PEER_ADDRESS and the other settings')
  say('     of the fleet into /etc/holt/holtd.env, or into the environment of the service.')
  say(`  2. Start it with them:  ${unit === null ? `${holt} up` : `systemctl start ${unit}`}`)
  say(`  3. Look at the fleet:   ${holt} fleet status`)
  say('  4. Each further host has the same settings with its own HOLT_PEER_ADDRESS, an empty state directory,')
  say('     and a copy of master-keys.json of this one.')
  say(`The way back: ${holt} fleet join --help`)
}
