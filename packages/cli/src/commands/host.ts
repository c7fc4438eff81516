import { hostEventTypePatterns, hostEventTypes } from '@holt/protocol'
import type { Host, HostCheck } from '@holt/sdk'
import type { Command } from 'commander'
import { addListOptions, type ListOptions } from '../arguments/list-options.ts'
import { connect } from '../connection/connect.ts'
import { print } from '../output/print.ts'
import { printList } from '../output/print-list.ts'
import { ageOf, bytes } from '../output/table.ts'
import { printable } from '../output/visible.ts'
import { act } from '../verb/verb.ts'
import { addEventOptions, type EventsOptions, requireValues, showEvents } from './events.ts'
import { addHostChanges } from './host-changes.ts'

const examples = `
The checks are those of holt doctor that start nothing. Those that did not pass follow the table.

Examples:
  holt host ls
  holt host ls --json | jq '.data[].capacity.memory_promised_mib'
  holt host ls --json | jq -r '.data[].checks[] | select(.status == "fix") | .message'
  holt host cordon hoexample0000000000001
  holt host uncordon hoexample0000000000001
  holt host drain --dry-run hoexample0000000000001
  holt host drain --deadline 30m hoexample0000000000001
  holt host lost hoexample0000000000001 --force
  holt host forget hoexample0000000000001
  holt host events -f --type host.lost`

/** Adds `holt host`, which shows the machines that run runtimes, and manages those of a fleet. */
export function addHost(program: Command): void {
  const group = program
    .command('host')
    .description('show and manage the machines that run runtimes (needs a key with the scope operator)')
    .addHelpText('after', examples)
  const list = addListOptions(group.command('ls').description('list the hosts, with their capacity and checks'))
  act(list, async (form: ListOptions) => {
    const hosts = await connect().hosts.list().all()
    printList(hosts, form, {
      id: ({ host_id }) => host_id,
      columns: [
        ['HOST', ({ host_id }) => host_id],
        ['NAME', ({ name }) => name],
        ['STATUS', ({ status }) => status.replace('_', ' ')],
        ['VERSION', ({ version }) => version],
        ['RUNNING', ({ capacity }) => (capacity === null ? '' : String(capacity.runtimes.running ?? 0))],
        ['FREE MEMORY', ({ capacity }) => shareOf(capacity?.memory_available_mib, capacity?.memory_mib)],
        ['FREE DISK', ({ capacity }) => shareOf(capacity?.disk_free_mib, capacity?.disk_mib)],
        ['CHECKS', ({ checks }) => summaryOf(checks)],
        ['UP', ({ started_at }) => ageOf(started_at)],
      ],
    })
    if (form.json !== true && form.quiet !== true) for (const host of hosts) tellFaults(host)
    return 0
  })
  addHostChanges(group)
  addHostEvents(group)
}

function addHostEvents(group: Command): void {
  const command = group
    .command('events')
    .description('show what happened to the hosts of a fleet, in order')
    .argument('[host]', 'only events of this host: an id')
  addEventOptions(command, `only this type: ${hostEventTypes.join(', ')}; repeatable`)
  act(command, async (host: string | undefined, options: EventsOptions) => {
    requireValues(options, hostEventTypePatterns)
    return showEvents(connect().hosts.events, host, options)
  })
}

/** Returns the free part of a whole, in MiB: `12.0 GiB of 64.0 GiB`. Empty if it is unknown. */
function shareOf(free: number | null | undefined, whole: number | undefined): string {
  return free == null || whole === undefined ? '' : `${bytes(free * 2 ** 20)} of ${bytes(whole * 2 ** 20)}`
}

/** Returns the results of checks: `all 24 passed`, or `1 fix, 2 warn`. */
function summaryOf(checks: readonly HostCheck[]): string {
  if (checks.length === 0) return ''
  const counts = (['fix', 'warn'] as const).map((status) => ({
    status,
    count: checks.filter((check) => check.status === status).length,
  }))
  const found = counts.filter(({ count }) => count > 0).map(({ status, count }) => `${count} ${status}`)
  return found.length === 0 ? `all ${checks.length} passed` : found.join(', ')
}

/** Prints why a host is not ready, and the checks that did not pass, as `holt doctor` does. */
function tellFaults({ reasons, checks }: Host): void {
  for (const reason of reasons) print(`not ready: ${printable(reason)}`)
  for (const { status, name, message, fix } of checks) {
    if (status === 'fix') print(printable(`FIX: ${fix === null ? '' : `${fix}    `}# ${name}: ${message}`))
    if (status === 'warn') print(printable(`warning: ${name}: ${message}${fix === null ? '' : ` (${fix})`}`))
  }
}
