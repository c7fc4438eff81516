import { type Address, contains, parseNetwork } from '../addresses/parse-address.ts'
import type { AttachedSecret, EffectivePolicy, NamedRule } from '../contract.ts'
import type { RequestVerdict } from '../terminate/terminator.ts'
import { coversName, needsRequests, protocolAt } from './match-host.ts'
import { matchesPath } from './match-path.ts'

/** What a connection is for: a canonical name, or an address that was dialled as such. */
export type Target =
  | { readonly name: string; readonly port: number }
  | { readonly name: null; readonly address: Address; readonly port: number }

/** The rules that allow a connection, by how they read it. At least one of them has a rule. */
export interface Plan {
  readonly tcp: readonly NamedRule[]
  readonly tls: readonly NamedRule[]
  readonly http: readonly NamedRule[]
}

/**
 * The first rule that allows a name at some port: then the name has an address. Null: it is refused
 * without a query.
 */
export function ruleForName(policy: EffectivePolicy, name: string): NamedRule | null {
  return policy.rules.find((rule) => coversName(rule.host, name)) ?? null
}

/**
 * The rules that allow a connection; null when there is none. A rule only ever allows: it takes
 * nothing away that another one gives.
 */
export function planConnection(policy: EffectivePolicy, target: Target): Plan | null {
  const rules = policy.rules.filter((rule) => rule.ports.includes(target.port) && coversTarget(rule, target))
  if (rules.length === 0) return null
  const read = (protocol: string) => rules.filter((rule) => protocolAt(rule, target.port) === protocol)
  return { tcp: read('tcp'), tls: read('tls'), http: read('http') }
}

/** The verdict on one request: allowed by the first rule whose methods and paths it fits. */
export function decideRequest(rules: readonly NamedRule[], method: string, path: string): RequestVerdict {
  const fitting = rules.find(
    ({ methods, paths }) =>
      (methods === null || methods.includes(method)) && (paths === null || matchesPath(paths, path)),
  )
  if (fitting === undefined) return { allowed: false, reason: rules.length === 0 ? 'no_rule' : 'request_denied' }
  return { allowed: true, rule: fitting.name }
}

/** The first of the rules that allows every request, so that nothing has to be read. */
export function wholeRule(rules: readonly NamedRule[]): NamedRule | null {
  return rules.find((rule) => !needsRequests(rule)) ?? null
}

/** The secrets that are for a name. */
export function secretsFor(secrets: readonly AttachedSecret[], name: string | null): readonly AttachedSecret[] {
  if (name === null) return []
  return secrets.filter((secret) => secret.hosts.some((host) => host !== '*' && coversName(host, name)))
}

function coversTarget(rule: NamedRule, target: Target): boolean {
  if (target.name !== null) return coversName(rule.host, target.name)
  if (rule.host === '*') return true
  const network = parseNetwork(rule.host)
  return network !== null && contains(network, target.address)
}
