import { HoltError, type NetworkLogItem, type Runtime, type SuggestedPolicy } from '@holt/sdk'
import type { Command } from 'commander'
import { dropUndefined } from '../arguments/create-options.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { addLogOptions, type LogOptions, selectedItems } from '../arguments/log-options.ts'
import { addPolicyOptions, hostAndPorts, type PolicyOptions, policyOf } from '../arguments/policy-options.ts'
import { connect } from '../connection/connect.ts'
import { print, printJson, say } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { act, UsageError } from '../verb/verb.ts'
import { printInspection, privateNote, sayDenied, summaryOf } from './policy.ts'

/** The maximum number of networks that are tested for a new policy, each by a request. */
const maxTestedNetworks = 5

const examples = `
Examples:
  holt net log mine -f --denied       denied connections, as they happen
  holt net test mine api.example.com  is it allowed, and by which rule? exits 1 if not
  holt net suggest mine               the missing rules, as options
  holt net set mine --include npm     replaces the policy; connections that are no longer allowed are cut
  holt net set mine --none            no network`

/** Adds `holt net`, which manages the network access of one runtime. */
export function addNet(program: Command): void {
  const group = program
    .command('net')
    .description('the network of a runtime: its policy and its log')
    .addHelpText('after', examples)
  const runtime = (name: string, description: string) =>
    group.command(name).description(description).argument('<runtime>', 'id, beginning of an id, or name')

  act(
    runtime('get', 'show its network policy').option('--json', 'print it as JSON'),
    async (text: string, { json }: { json?: boolean }) => {
      const network = await (await findRuntime(connect(), text)).network.get()
      if (json === true) printJson(network)
      else if (network.policy === null) say('No policy: nothing can be reached.')
      else {
        printInspection(network.policy.inspection)
        sayDenied(network.policy.deny)
      }
      return 0
    },
  )
  const set = runtime('set', 'replace its network policy; the change acts at once').argument(
    '[policy]',
    'a stored policy',
  )
  act(addPolicyOptions(set).option('--none', 'no network').option('--json', 'print its network as JSON'), setNetwork)
  act(
    addLogOptions(runtime('log', 'show its network log: each connection and the decision'), 'the runtime has ended')
      .option('--denied', 'only denied connections')
      .option('--cursor <cursor>', 'only items after this one', Number)
      .option('--json', 'print the items, one JSON object per line'),
    showLog,
  )
  act(
    runtime('test', 'test whether a connection is allowed, and by which rule')
      .argument('<host[:port]>', 'a host, with another port than 443')
      .option('--method <method>', 'the method of a request')
      .option('--path <path>', 'the path of a request')
      .option('--json', 'print the decision as JSON'),
    testNetwork,
  )
  act(
    runtime('suggest', 'suggest a policy that allows the denied connections').option('--json', 'print it as JSON'),
    async (text: string, { json }: { json?: boolean }) => {
      const suggested = await (await findRuntime(connect(), text)).network.suggest()
      if (json === true) printJson(suggested)
      else printSuggestion(suggested)
      return 0
    },
  )
}

async function setNetwork(
  text: string,
  policy: string | undefined,
  options: PolicyOptions & { none?: boolean; json?: boolean },
): Promise<number> {
  const written = policyOf(options)
  const ways = [policy !== undefined, written !== null, options.none === true].filter((way) => way).length
  if (ways !== 1) throw new UsageError('Give one of: a stored policy, --allow and --include, or --none')
  const runtime = await findRuntime(connect(), text)
  const network = await runtime.network.set(policy ?? written)
  if (options.json === true) printJson(network)
  else {
    say(network.policy === null ? 'Nothing can be reached.' : `It may reach ${summaryOf(network.policy)}`)
    const networks = (network.policy?.allow ?? []).filter(({ host }) => host.includes('/'))
    for (const { host, ports } of networks.slice(0, maxTestedNetworks))
      if (await isDeniedAsPrivate(runtime, host, ports[0])) say(privateNote(host))
  }
  return 0
}

/** Returns true if the first address of a network in a rule is denied because it is not public. */
async function isDeniedAsPrivate(runtime: Runtime, network: string, port = 443): Promise<boolean> {
  try {
    const { rule } = await runtime.network.test({ host: network.replace(/\/.*$/, ''), port })
    return rule === 'non_public'
  } catch (error) {
    // The policy is set. A test that fails withholds only the advice.
    if (error instanceof HoltError) return false
    throw error
  }
}

async function showLog(
  text: string,
  options: LogOptions & { denied?: boolean; cursor?: number; json?: boolean },
): Promise<number> {
  const { tail, denied, cursor } = options
  if (cursor !== undefined && !(Number.isSafeInteger(cursor) && cursor >= 0))
    throw new UsageError('--cursor must be the cursor of an item')
  const selected = selectedItems<NetworkLogItem>(options)
  const runtime = await findRuntime(connect(), text)
  let isEmpty = true
  for await (const item of selected((how) => runtime.network.log(dropUndefined({ denied, cursor, ...how })))) {
    isEmpty &&= item.type === 'end'
    if (options.json === true) print(JSON.stringify(item))
    else if (item.type === 'dropped') say(`holt: ${item.dropped_items} decisions are no longer kept`)
    else if (item.type !== 'end') print(printable(lineOf(item)))
  }
  if (isEmpty && tail === undefined && options.json !== true)
    say(denied === true ? 'Nothing was denied.' : 'It has tried to reach nothing.')
  return 0
}

type DecisionItem = Exclude<NetworkLogItem, { type: 'dropped' | 'end' }>

function lineOf(item: DecisionItem): string {
  const { at, allowed, type, name, address, port, rule, method, path, secret } = item
  const target = `${name ?? address ?? '?'}${port === null ? '' : `:${port}`}`
  const request = method === null ? '' : ` ${method} ${path ?? ''}`
  const sent = type === 'close' ? ` ${item.bytes_sent ?? 0} bytes out, ${item.bytes_received ?? 0} in` : ''
  const asked = item.process === null ? '' : ` (${item.process.name} ${item.process.pid})`
  const put = secret === null ? '' : ` with ${secret}`
  return `${at} ${allowed ? 'allow' : 'DENY '} ${type.padEnd(7)} ${target}${request}${sent}  ${rule}${put}${asked}`
}

async function testNetwork(
  text: string,
  target: string,
  options: { method?: string; path?: string; json?: boolean },
): Promise<number> {
  const { host, ports = [443], ...others } = hostAndPorts(target)
  const [port, ...more] = ports
  if (port === undefined || more.length > 0 || Object.keys(others).length > 0) throw new UsageError('Name one port.')
  const { method, path } = options
  const runtime = await findRuntime(connect(), text)
  const tested = await runtime.network.test({ host, port, ...dropUndefined({ method, path }) })
  if (options.json === true) printJson(tested)
  else {
    print(`${tested.allowed ? 'allowed' : 'denied'}: ${printable(tested.rule)}`)
    // The first line says the same.
    if (!tested.allowed || tested.detail !== 'Allowed.') say(printable(tested.detail))
  }
  return tested.allowed ? 0 : 1
}

function printSuggestion({ add, remarks, denied }: SuggestedPolicy): void {
  if (denied === 0) say('Nothing was denied.')
  for (const { host, message } of remarks) say(`${printable(host)} ${printable(message)}`)
  for (const { host, ports } of add)
    print(`--allow ${printable(host)}${ports.length === 1 && ports[0] === 443 ? '' : `:${ports.join(',')}`}`)
}
