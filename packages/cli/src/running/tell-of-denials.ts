import type { NetworkLogItem, Runtime } from '@holt/sdk'
import { say } from '../output/print.ts'
import { printable } from '../output/visible.ts'

/**
 * The time for which a failed command may wait for its reason in the network log, in milliseconds.
 */
const logTimeoutMs = 5_000

/** The largest difference between the clocks of a runtime and the service. */
const clockMarginMs = 100

/** The maximum number of names in the suggestion. */
const maxNames = 3

/** The characters at the end of the output in which a command reports its failure. */
const tailLength = 8_192

/**
 * The messages of programs about an unreachable host: libc, curl, git, apt, pip, Node, Go, Java.
 */
const unreachableMessages =
  /could not resolve|name resolution|temporary failure resolving|name or service not known|unable to resolve|EAI_AGAIN|ENOTFOUND|ENETUNREACH|network is unreachable|no such host|UnknownHostException/i

type Decision = Extract<NetworkLogItem, { readonly rule: string }>

/** A command that failed. */
export interface FailedCommand {
  readonly runtime: Runtime
  /**
   * The start of the command. Null: everything in the log is its own, because the runtime was made
   * for it.
   */
  readonly startedAt: string | null
  readonly output: OutputTail
}

/** The end of a command's output. */
export class OutputTail {
  #text: string

  constructor(text = '') {
    this.#text = text.slice(-tailLength)
  }

  add(bytes: Uint8Array): void {
    const text = Buffer.from(bytes.subarray(-tailLength)).toString('latin1')
    this.#text = (this.#text + text).slice(-tailLength)
  }

  /** True if the output says that a host could not be reached. */
  get tellsOfNetwork(): boolean {
    return unreachableMessages.test(this.#text)
  }
}

/**
 * Prints in one line which destinations the network policy denied since the start of a failed
 * command. A destination is a host with all its ports: one program may look a name up and connect
 * to it several times. If the runtime has no network and the command complains of that, prints how
 * to get one. Otherwise prints nothing.
 */
export async function tellOfDenials({ runtime, startedAt, output }: FailedCommand): Promise<void> {
  if (runtime.network_policy === null) {
    if (output.tellsOfNetwork) say(`holt: ${noNetworkLine(startedAt === null ? null : labelOf(runtime))}`)
    return
  }
  const denied: Decision[] = []
  try {
    const signal = AbortSignal.timeout(logTimeoutMs)
    for await (const item of runtime.network.log({ denied: true, signal, ...sinceOf(startedAt) }))
      if ('rule' in item && item.type !== 'close' && !item.allowed) denied.push(item)
  } catch {
    return // The command's own failure is what counts; this is advice on it.
  }
  const line = denialLine(denied, startedAt === null ? runtime.runtime_id : labelOf(runtime))
  if (line !== null) say(`holt: ${line}`)
}

function labelOf({ name, runtime_id }: Runtime): string {
  return name ?? runtime_id
}

/**
 * Returns the advice on how a runtime gets a network. If `label` is null, the advice is for the
 * next runtime, with options of its create.
 */
function noNetworkLine(label: string | null): string {
  const how = label === null ? 'add' : `holt net set ${label}`
  return `the runtime has no network: ${how} --allow HOST, or --include npm (pypi, github, debian)`
}

function sinceOf(startedAt: string | null): { since?: string } {
  return startedAt === null ? {} : { since: new Date(Date.parse(startedAt) - clockMarginMs).toISOString() }
}

/** Returns the line about denied destinations; null if there were none. */
function denialLine(denied: readonly Decision[], label: string): string | null {
  if (denied.length === 0) return null
  const hosts = new Map<string, { ports: Set<number>; isPrivate: boolean }>()
  for (const { name, address, port, rule, type } of denied) {
    const host = name ?? address ?? 'an unknown host'
    const known = hosts.get(host) ?? { ports: new Set(), isPrivate: false }
    if (port !== null && type !== 'dns') known.ports.add(port)
    hosts.set(host, { ...known, isPrivate: known.isPrivate || rule === 'non_public' })
  }
  const texts = [...hosts].map(([host, { ports, isPrivate }]) => {
    const where = printable([host, [...ports].sort((a, b) => a - b).join(',')].filter((part) => part !== '').join(':'))
    return isPrivate ? `${where}, non_public: it is a private address` : where
  })
  const more = texts.length > maxNames ? [`and ${texts.length - maxNames} more`] : []
  const named = [...texts.slice(0, maxNames), ...more].join('; ')
  const what = texts.length === 1 ? '1 destination was' : `${texts.length} destinations were`
  return `${what} denied by the network policy (${named}): holt net suggest ${label}`
}
