import { isIP } from 'node:net'
import type { NetworkConfig } from './network-config.ts'

/**
 * The operator's decision about hosts outside. `deny`: no sandbox reaches any. `request`: a sandbox
 * reaches what its create asks for. `open`: it reaches the Internet unless its create says no.
 */
export type EgressMode = 'deny' | 'request' | 'open'

/** The wish of a create, or of a change of the network. */
export interface EgressWish {
  readonly internet: boolean | undefined
  readonly network: Pick<NetworkConfig, 'allowOut' | 'denyOut' | 'egressProxy' | 'rules'> | undefined
}

/** The hosts that a sandbox reaches. Never private addresses, whatever it asks for. */
export type Egress =
  | { readonly type: 'nothing' }
  | { readonly type: 'internet' }
  /** Exactly these names, `*.` names, addresses and networks. */
  | { readonly type: 'only'; readonly hosts: readonly string[] }
  /** The wish cannot be granted: 403 for one that the operator forbids, else 400. */
  | { readonly type: 'refused'; readonly status: 400 | 403; readonly message: string }

const everything = new Set(['0.0.0.0/0', '::/0', '*'])

/** Decides what a sandbox reaches. */
export function decideEgress(mode: EgressMode, { internet, network }: EgressWish): Egress {
  const { allowOut = [], denyOut = [], egressProxy, rules } = network ?? {}
  const absent = absentAbility(egressProxy, rules)
  if (absent !== null) return refused(400, absent)
  const deniesAll = denyOut.some((entry) => everything.has(entry))
  const wrong = [...allowOut, ...denyOut].find((entry) => !isDestination(entry))
  if (wrong !== undefined) return refused(400, `network: ${wrong} is no name, address or network`)
  if (allowOut.length > 0) return decideAllowed(mode, { internet, allowOut, denyOut, deniesAll })
  const wanted = internet ?? mode === 'open'
  if (mode === 'deny' || !wanted || deniesAll) return { type: 'nothing' }
  return denyOut.length > 0 ? refused(400, noDeny) : { type: 'internet' }
}

const noDeny = 'network.denyOut: this service cannot deny single destinations. Deny 0.0.0.0/0 and list those to allow'

interface Allowed {
  readonly internet: boolean | undefined
  readonly allowOut: readonly string[]
  readonly denyOut: readonly string[]
  readonly deniesAll: boolean
}

function decideAllowed(mode: EgressMode, { internet, allowOut, denyOut, deniesAll }: Allowed): Egress {
  if (mode === 'deny') return refused(403, 'network.allowOut: the operator of this service allows no destinations')
  if (internet === false) return { type: 'nothing' }
  if (!deniesAll && denyOut.length > 0) return refused(400, noDeny)
  if (mode === 'open' && !deniesAll) {
    const isName = (entry: string) => isIP(entry.split('/', 1)[0] ?? '') === 0
    return allowOut.some((entry) => isName(entry) && !everything.has(entry))
      ? refused(400, 'network.allowOut: names need denyOut of 0.0.0.0/0')
      : { type: 'internet' }
  }
  return allowOut.some((entry) => everything.has(entry))
    ? { type: 'internet' }
    : { type: 'only', hosts: allowOut.map(asHost) }
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
