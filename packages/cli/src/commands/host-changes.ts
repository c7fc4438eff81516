import type { Command } from 'commander'
import { doToEach } from '../arguments/do-to-each.ts'
import { connect } from '../connection/connect.ts'
import { act } from '../verb/verb.ts'

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
