import type { Policy, PolicyBodyInput } from '@holt/sdk'
import { type Command, InvalidArgumentError } from 'commander'
import { addListOptions, type ListOptions } from '../arguments/list-options.ts'
import { addPolicyOptions, type PolicyOptions, policyFrom } from '../arguments/policy-options.ts'
import { addRemove } from '../arguments/remove-options.ts'
import { connect } from '../connection/connect.ts'
import { print, printJson, say } from '../output/print.ts'
import { printList } from '../output/print-list.ts'
import { ageOf, printTable } from '../output/table.ts'
import { act } from '../verb/verb.ts'

const examplesOfFile = `
Example of a file:
  {
    "include": ["npm"],
    "allow": [
      { "host": "api.example.com", "methods": ["GET", "POST"], "paths": ["/v1/*"] },
      { "host": "*.example.org", "ports": [443, 8443], "protocol": "tls" },
      { "host": "203.0.113.0/24", "all_ports": true }
    ],
    "deny": ["203.0.113.7/32"]
  }
The default port is 443. A final * in a path allows everything that begins so. The protocol is tls,
http or tcp; by default it follows the port.`

const examples = `
Examples:
  holt policy create build --include npm --include github
  holt policy create agent --include anthropic --allow api.example.com --allow db.example.com:5432
  holt policy get agent --json > agent.json      then edit it, and
  holt policy set agent -f agent.json            it acts at once in every runtime that has it
  holt policy set agent -f agent.json --revision 3   only if nobody has replaced it meanwhile
  holt run --network build -- npm install`

/** Adds `holt policy`, which manages the stored network policies. */
export function addPolicy(program: Command): void {
  const group = program.command('policy').description('manage stored network policies').addHelpText('after', examples)
  const create = addPolicyOptions(group.command('create').description('store a policy').argument('<name>', 'its name'))
  act(withFile(create), async (name: string, options: FileOptions) => {
    const body: PolicyBodyInput = await policyFrom(options.file, options)
    return shown(await connect().policies.create({ name, ...body }), options)
  })
  const set = addPolicyOptions(
    group
      .command('set')
      .description('replace a policy; it acts at once in runtimes that have it')
      .argument('<policy>', 'name or id')
      .option('--revision <number>', 'replace only this revision, as `holt policy ls` shows it', revision),
  )
  act(withFile(set), async (policy: string, options: FileOptions) => {
    const body = await policyFrom(options.file, options)
    return shown(await connect().policies.replace(policy, body, { ifMatch: options.revision }), options)
  })
  addReaders(group)
  addRemove(group, { thing: 'policy', description: 'delete policies', how: 'names or ids' }, (holt, text) =>
    holt.policies.delete(text),
  )
}

interface FileOptions extends PolicyOptions {
  readonly file?: string
  /** The etag of the revision to replace. Absent: any. */
  readonly revision?: string
  readonly json?: boolean
}

/** Returns the etag of a revision. */
function revision(text: string): string {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError('It must be a number, such as 3.')
  return `"${text}"`
}

function withFile(command: Command): Command {
  return command
    .option('-f, --file <file>', 'JSON as `holt policy get --json` prints it; -: stdin')
    .option('--json', 'print the policy as JSON')
    .addHelpText('after', examplesOfFile)
}

function addReaders(group: Command): void {
  const list = addListOptions(group.command('ls').description('list policies'))
  act(list, async (form: ListOptions) => {
    const policies = await connect().policies.list({ limit: 100 }).all()
    return printList(policies, form, {
      id: (one) => one.policy_id,
      none: 'No policies. Make one: holt policy create NAME --include npm',
      columns: [
        ['POLICY', (policy) => policy.name],
        ['ALLOWS', (policy) => summaryOf(policy)],
        ['REVISION', (policy) => String(policy.revision)],
        ['CHANGED', (policy) => `${ageOf(policy.updated_at)} ago`],
      ],
    })
  })
  const get = group
    .command('get')
    .description('show a policy, and how far the gateway can check it')
    .argument('<policy>', 'name or id')
    .option('--json', 'print the policy as a file for `holt policy set -f`')
  act(get, async (policy: string, { json }: { json?: boolean }) => {
    const { name, allow, include, allow_all_hosts, deny, inspection } = await connect().policies.get(policy)
    if (json === true) printJson({ name, allow, include, allow_all_hosts, deny })
    else {
      printInspection(inspection)
      sayDenied(deny)
    }
    return 0
  })
  const presets = group.command('presets').description('list the presets: groups of hosts for --include')
  presets.option('-q, --quiet', 'only the names').option('--json', 'print them as JSON')
  act(presets, async ({ quiet, json }: ListOptions) => {
    const all = await connect().policies.presets()
    if (json === true) printJson({ data: all })
    else if (quiet === true) for (const one of all) print(one.name)
    else {
      const rows = all.flatMap(({ name, hosts }) => hosts.map((host) => ({ name, ...host })))
      printTable(rows, [
        ['PRESET', (row) => row.name],
        ['HOST', (row) => `${row.host}:${row.ports.join(',')}`],
        ['WHY', (row) => row.why],
      ])
    }
    return 0
  })
}

function shown(policy: Policy, { json }: { json?: boolean }): number {
  if (json === true) printJson(policy)
  else {
    say(`${policy.name}, revision ${policy.revision}: ${summaryOf(policy)}`)
    for (const { host } of policy.allow) if (host.includes('/')) say(privateNote(host))
    print(policy.policy_id)
  }
  return 0
}

/** Prints the rules of a policy with the data of each that the gateway sees. */
export function printInspection(inspection: Policy['inspection']): void {
  printTable(inspection, [
    ['HOST', (rule) => rule.host],
    ['PORTS', (rule) => [...rule.ports, ...(rule.other_ports ? ['others'] : [])].join(',')],
    ['INSPECTION', (rule) => rule.inspection],
    ['SECRETS', (rule) => rule.secrets.join(',')],
    ['RULE', (rule) => rule.rule],
  ])
}

/** Names the networks that no rule reaches. */
export function sayDenied(deny: Policy['deny']): void {
  if (deny.length > 0) say(`Denied whatever a rule allows: ${deny.join(' ')}`)
}

/** Returns the note on addresses that a rule for a network does not allow by itself. */
export function privateNote(network: string): string {
  return `Addresses of ${network} that are not public are denied, unless the operator of the service allows their network: HOLT_EGRESS_ALLOWED_NETWORKS`
}

/** Returns a policy in a few words. */
export function summaryOf({ allow, include, deny }: Pick<Policy, 'allow' | 'include' | 'deny'>): string {
  const portsOf = ({ ports, all_ports }: Policy['allow'][number]) => (all_ports === true ? '*' : ports.join(','))
  const parts = [
    ...include,
    ...allow.map((rule) => `${rule.host}:${portsOf(rule)}`),
    ...deny.map((network) => `without ${network}`),
  ]
  const more = parts.length - 4
  return parts.length === 0 ? 'nothing' : `${parts.slice(0, 4).join(' ')}${more > 0 ? ` and ${more} more` : ''}`
}
