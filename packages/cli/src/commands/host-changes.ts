import type { HostDrain } from '@holt/sdk'
import type { Command } from 'commander'
import { doToEach } from '../arguments/do-to-each.ts'
import { wholeSecs } from '../arguments/parse.ts'
import { connect } from '../connection/connect.ts'
import { printable } from '../output/visible.ts'
import { act } from '../verb/verb.ts'

interface DrainOptions {
  readonly deadline?: number
  readonly force?: boolean
  readonly dryRun?: boolean
}

/** Returns what becomes of the runtimes of a host. */
function wordsOf(host: string, { drains, moving, ending, paused, problems }: HostDrain): string {
  const counts = `${moving} to move, ${ending} that cannot, ${paused} paused`
  const against = problems.map((problem) => `\n  ${printable(problem)}`).join('')
  return `${drains ? 'Draining' : 'Would drain'} ${host}: ${counts}${against}`
}

/** Adds the verbs that change hosts of a fleet to `holt host`. */
export function addHostChanges(group: Command): void {
  act(
    group
      .command('cordon')
      .description('give hosts no new runtimes; they keep those that they have')
      .argument('<host...>', 'ids'),
    (hosts: string[]) =>
      doToEach(hosts, {}, async (host) => {
        await connect().hosts.cordon(host)
        return { told: `Cordoned ${host}` }
      }),
  )
  act(
    group.command('uncordon').description('give hosts new runtimes again').argument('<host...>', 'ids'),
    (hosts: string[]) =>
      doToEach(hosts, {}, async (host) => {
        await connect().hosts.uncordon(host)
        return { told: `Uncordoned ${host}` }
      }),
  )
  act(
    group
      .command('drain')
      .description('empty hosts: their runtimes move to other hosts, under the same ids')
      .argument('<host...>', 'ids')
      .option('--deadline <duration>', 'end runtimes that cannot move after this time (default: 30m)', wholeSecs)
      .option('-f, --force', 'also hosts that some paused runtimes need')
      .option('--dry-run', 'change nothing, and say what would happen'),
    (hosts: string[], { deadline, force = false, dryRun = false }: DrainOptions) =>
      doToEach(hosts, {}, async (host) => {
        const body = { force, dry_run: dryRun, ...(deadline === undefined ? {} : { deadline_secs: deadline }) }
        return { told: wordsOf(host, await connect().hosts.drain(host, body)) }
      }),
  )
  act(
    group
      .command('lost')
      .description('declare hosts lost whose power is off; their running runtimes fail')
      .argument('<host...>', 'ids')
      .option('-f, --force', 'also hosts that were heard of a moment ago'),
    (hosts: string[], { force = false }: { force?: boolean }) =>
      doToEach(hosts, {}, async (host) => {
        await connect().hosts.lose(host, { force })
        return { told: `Declared ${host} lost` }
      }),
  )
  act(
    group
      .command('forget')
      .description('give up what is on the disks of lost hosts; their paused runtimes fail')
      .argument('<host...>', 'ids'),
    (hosts: string[]) =>
      doToEach(hosts, {}, async (host) => {
        await connect().hosts.forget(host)
        return { told: `Forgot ${host}` }
      }),
  )
}
