import { BlockList, isIP } from 'node:net'
import type { NetworkConfig } from './network-config.ts'

/**
 * The operator's decision about hosts outside. `deny`: no sandbox reaches any. `request`: a sandbox
 * reaches what its create asks for. `open`: it reaches the Internet unless its create says no.
 */
export type EgressMode = 'deny' | 'request' | 'open'

/** The network that a create or a change requests. */
export interface EgressWish {
  readonly internet: boolean | undefined
  readonly network: Pick<NetworkConfig, 'allowOut' | 'denyOut' | 'egressProxy' | 'rules'> | undefined
}

/** The hosts that a sandbox reaches. Private addresses are never among them. */
export type Egress =
  | { readonly type: 'nothing' }
  /** Every public host but these networks. */
  | { readonly type: 'internet'; readonly deny: readonly string[] }
  /** Exactly these names, `*.` names and networks, but none of `deny`. */
  | { readonly type: 'only'; readonly hosts: readonly string[]; readonly deny: readonly string[] }
  /** The request is refused: 403 if the operator forbids it, otherwise 400. */
  | { readonly type: 'refused'; readonly status: 400 | 403; readonly message: string }

const everything = new Set(['0.0.0.0/0', '::/0', '*'])

/** Decides which hosts a sandbox reaches. */
export function decideEgress(mode: EgressMode, { internet, network }: EgressWish): Egress {
  const { allowOut = [], denyOut = [], egressProxy, rules } = network ?? {}
  const absent = absentAbility(egressProxy, rules)
  if (absent !== null) return refused(400, absent)
  const deniesAll = denyOut.some((entry) => everything.has(entry))
  const wrong = [...allowOut, ...denyOut].find((entry) => !isDestination(entry))
  if (wrong !== undefined) return refused(400, `network: ${wrong} is no name, address or network`)
  const name = denyOut.find((entry) => isName(entry))
  if (name !== undefined) return refused(400, `network.denyOut: ${name} is no address or network`)
  const deny = denyOut.filter((entry) => !everything.has(entry)).map(asHost)
  const both = overlap(allowOut, deny)
  if (both !== null) return refused(400, `network.denyOut: ${both} is in allowOut as well, or a part of it is`)
  if (allowOut.length > 0) return decideAllowed(mode, { internet, allowOut, deny, deniesAll })
  const wanted = internet ?? mode === 'open'
  if (mode === 'deny' || !wanted || deniesAll) return { type: 'nothing' }
  return { type: 'internet', deny }
}

interface Allowed {
  readonly internet: boolean | undefined
  readonly allowOut: readonly string[]
  readonly deny: readonly string[]
  readonly deniesAll: boolean
}

function decideAllowed(mode: EgressMode, { internet, allowOut, deny, deniesAll }: Allowed): Egress {
  if (mode === 'deny') return refused(403, 'network.allowOut: the operator of this service allows no destinations')
  if (internet === false) return { type: 'nothing' }
  if (mode === 'open' && !deniesAll) {
    return allowOut.some(isName)
      ? refused(400, 'network.allowOut: names need denyOut of 0.0.0.0/0')
      : { type: 'internet', deny }
  }
  if (allowOut.some((entry) => everything.has(entry))) return { type: 'internet', deny }
  return { type: 'only', hosts: allowOut.map(asHost), deny }
}

function isName(entry: string): boolean {
  return !everything.has(entry) && isIP(entry.split('/', 1)[0] ?? '') === 0
}

/**
 * Returns a denied network that shares addresses with an allowed one, or null. The two contradict
 * each other.
 */
function overlap(allowOut: readonly string[], deny: readonly string[]): string | null {
  const allowed = allowOut.filter((entry) => !everything.has(entry) && !isName(entry)).map(asHost)
  return deny.find((entry) => allowed.some((other) => covers(entry, other) || covers(other, entry))) ?? null
}

/**
 * Returns true if the first address of a network is in another one. A wrong length covers nothing.
 */
function covers(outer: string, inner: string): boolean {
  const [address = '', length = ''] = outer.split('/', 2)
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  if (Number(length) > (family === 'ipv6' ? 128 : 32)) return false
  const list = new BlockList()
  list.addSubnet(address, Number(length), family)
  const [first = ''] = inner.split('/', 1)
  return list.check(first, isIP(first) === 6 ? 'ipv6' : 'ipv4')
}

function absentAbility(egressProxy: unknown, rules: Readonly<Record<string, unknown>> | undefined): string | null {
  if (egressProxy != null) return 'network.egressProxy is not part of this service'
  // Silence would drop credentials that the caller relies on.
  if (rules !== undefined && Object.keys(rules).length > 0) return 'network.rules is not part of this service'
  return null
}

function isDestination(entry: string): boolean {
  if (everything.has(entry)) return true
  const [address = '', length] = entry.split('/', 2)
  if (isIP(address) !== 0) return length === undefined || /^\d{1,3}$/.test(length)
  return length === undefined && /^(?:\*\.)?[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?\.?$/.test(entry)
}

/** Returns an entry as a rule names its host: a single address as a network. */
function asHost(entry: string): string {
  const version = isIP(entry)
  return version === 0 ? entry.toLowerCase().replace(/\.$/, '') : `${entry}/${version === 4 ? 32 : 128}`
}

function refused(status: 400 | 403, message: string): Egress {
  return { type: 'refused', status, message }
}
