import { runtimeStates } from '@holt/protocol'
import type { Isolation, RuntimeFilter, RuntimeState } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { dropUndefined, isolationOption } from '../arguments/create-options.ts'
import { addListOptions } from '../arguments/list-options.ts'
import { keyValue } from '../arguments/parse.ts'
import { connect } from '../connection/connect.ts'
import { nextOf } from '../output/describe-runtime.ts'
import { printList } from '../output/print-list.ts'
import { ageOf, mib } from '../output/table.ts'
import { act } from '../verb/verb.ts'

interface LsOptions {
  readonly all?: boolean
  readonly state?: RuntimeState
  readonly template?: string
  readonly name?: string
  readonly isolation?: Isolation
  readonly parent?: string
  readonly network?: string
  readonly secret?: string
  readonly snapshot?: string
  readonly metadata?: Record<string, string>
  readonly quiet?: boolean
  readonly json?: boolean
}

/** The states of a runtime that has not ended. The ended ones of a week may be thousands. */
const activeStates = runtimeStates.filter((state) => state !== 'terminated' && state !== 'failed')

const examples = `
Examples:
  holt ls
  holt ls --state paused
  holt ls --metadata team=search --json
  holt ls --network packages           who has this policy
  holt rm $(holt ls -q)`

/** Adds `holt ls`, which lists the runtimes. */
export function addLs(program: Command): void {
  const command = addListOptions(
    program
      .command('ls')
      .description('list runtimes, newest first')
      .option('-a, --all', 'include ended ones')
      .addOption(new Option('-s, --state <state>', 'only this state').choices(runtimeStates))
      .option('-t, --template <template>', 'only of this template')
      .option('-n, --name <name>', 'only with this name')
      .addOption(isolationOption())
      .option('--parent <runtime>', 'only forks of this runtime: its id')
      .option('--network <policy>', 'only with this stored network policy')
      .option('--secret <secret>', 'only with this secret')
      .option('--snapshot <snapshot>', 'only those created from this snapshot')
      .option('-m, --metadata <KEY=VALUE>', 'only with this label; repeatable', keyValue),
  ).addHelpText('after', examples)
  act(command, listRuntimes)
}

async function listRuntimes({ all, quiet, json, network, ...filter }: LsOptions): Promise<number> {
  const { runtimes } = connect()
  const wanted = {
    ...(all === true ? {} : { state: activeStates }),
    ...dropUndefined({ ...filter, network_policy: network }),
  } satisfies RuntimeFilter
  const shown = await runtimes.list({ ...wanted, limit: 100 }).all()
  const isTable = json !== true && quiet !== true
  const found = isTable && shown.length === 0 ? (await runtimes.list({ limit: 1 }).page()).data : shown
  return printList(
    shown,
    { quiet, json },
    {
      id: ({ runtime_id }) => runtime_id,
      none:
        found.length === 0 ? 'No runtimes. Make one: holt create' : 'No active runtimes; --all shows the ended ones.',
      columns: [
        ['RUNTIME', (runtime) => runtime.runtime_id],
        ['NAME', (runtime) => runtime.name ?? ''],
        ['STATE', (runtime) => runtime.state],
        ['TEMPLATE', (runtime) => runtime.template.name],
        ['ISOLATION', (runtime) => runtime.isolation],
        ['CPU', (runtime) => String(runtime.cpu)],
        ['MEMORY', (runtime) => mib(runtime.memory_mib)],
        ['AGE', (runtime) => ageOf(runtime.created_at)],
        ['NEXT', (runtime) => nextOf(runtime)],
      ],
    },
  )
}
