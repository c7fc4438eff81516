import type { Command } from 'commander'
import { connect } from '../connection/connect.ts'
import { print, printJson, styledData } from '../output/print.ts'
import { printTable, spanOf } from '../output/table.ts'
import { printable } from '../output/visible.ts'
import { act } from '../verb/verb.ts'
import { addFleetJoin } from './fleet-join.ts'
import { type FleetStatus, fleetStatusOf, type HostOfFleet } from './fleet-status.ts'
import { addFleetTokens } from './fleet-tokens.ts'

const examples = `
Examples:
  HOLT_DATABASE_URL=postgres://holt:PASSWORD@db.example.com/holt HOLT_PEER_ADDRESS=10.1.2.3 holt fleet join --check
  holt fleet status
  holt fleet token --ttl 1h --once > join-token
  holt fleet status --json | jq -r '.problems[]'
  holt fleet status --json | jq '.hosts[] | select(.fleet.blockers == []) | .host_id'`

/** Adds `holt fleet`, which shows the hosts of a fleet together, and lets machines join. */
export function addFleet(program: Command): void {
  const group = program
    .command('fleet')
    .description('show a fleet of hosts, make a machine its first one, and let workers join')
    .addHelpText('after', examples)
  const status = group
    .command('status')
    .description(
      'show the hosts of the fleet, their duties, and what blocks an upgrade; exits 1 if a host needs attention (needs a key with the scope operator)',
    )
    .option('--json', 'print it as JSON')
  act(status, async ({ json = false }: { json?: boolean }) => {
    const found = fleetStatusOf(await connect().hosts.list().all())
    if (json) printJson(found)
    else tell(found)
    return found.is_in_fleet && found.problems.length === 0 ? 0 : 1
  })
  addFleetJoin(group)
  addFleetTokens(group)
}

/** The characters of a class that are shown. They differ from class to class. */
const classLength = 8

function tell({ is_in_fleet, protocol, level, level_kept_by, versions, problems, hosts }: FleetStatus): void {
  if (!is_in_fleet) {
    print('This machine is in no fleet.')
    return
  }
  printTable(hosts, [
    ['HOST', ({ host_id }) => host_id],
    ['NAME', ({ name }) => name],
    ['STATE', stateOf],
    ['VERSION', ({ version }) => version],
    ['PROTOCOL', ({ fleet }) => rangeOf(fleet.protocol_min, fleet.protocol_max)],
    ['CLASS', ({ fleet }) => (fleet.class_id ?? '').slice(0, classLength)],
    ['SILENT', silenceOf],
    ['CLOCK', ({ fleet }) => clockOf(fleet.clock_difference_secs)],
    ['RUNTIMES', ({ fleet }) => String(fleet.runtimes)],
    ['DUTIES', ({ fleet }) => fleet.duties.join(' ')],
  ])
  const speaks = protocol === null ? 'none in common' : String(protocol)
  print(`versions   ${printable(versions.join(', '))}`)
  print(`protocol   ${speaks}`)
  const keeps = level_kept_by.length === 0 ? '' : `, kept by ${level_kept_by.join(' and ')}: upgrade it`
  print(`level      ${level ?? 'none'}${printable(keeps)}`)
  for (const problem of problems) print(`${styledData('red', 'problem')}    ${printable(problem)}`)
  for (const { host_id, fleet } of hosts)
    for (const { blocks, message } of fleet.blockers)
      print(printable(`${blocks.padEnd(10)} of ${host_id} is blocked: ${message}`))
}

/** Returns the silence of a host. A lost or forgotten one is silent for good, so it has none. */
function silenceOf({ fleet: { state, silent_secs } }: HostOfFleet): string {
  return silent_secs === null || state === 'lost' || state === 'gone' ? '' : spanOf(silent_secs)
}

/** Returns the state of a host, and the state that an operator wants if it differs. */
function stateOf({ fleet: { state, wanted } }: HostOfFleet): string {
  return state === wanted ? state : `${state} (wanted: ${wanted})`
}

function rangeOf(min: number, max: number): string {
  return min === max ? String(min) : `${min} to ${max}`
}

function clockOf(differenceSecs: number | null): string {
  if (differenceSecs === null) return ''
  return `${differenceSecs < 0 ? '-' : '+'}${Math.abs(differenceSecs).toFixed(2)}s`
}
