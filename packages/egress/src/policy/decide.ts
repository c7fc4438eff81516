import { type Address, contains, parseNetwork } from '../addresses/parse-address.ts'
import type { AttachedSecret, EffectivePolicy, NamedRule } from '../contract/gateway-contract.ts'
import type { RequestVerdict } from '../contract/terminator.ts'
import { coversName, coversPort, needsRequests, protocolAt } from './match-host.ts'
import { matchesPath } from './match-path.ts'

/** The target of a connection: a canonical name, or an address that was dialled as such. */
export type Target =
  | { readonly name: string; readonly port: number }
  | { readonly name: null; readonly address: Address; readonly port: number }

/** The rules that allow a connection, by protocol. At least one of the lists has a rule. */
export interface Plan {
  readonly tcp: readonly NamedRule[]
  readonly tls: readonly NamedRule[]
  readonly http: readonly NamedRule[]
}

/**
 * Returns the first rule that allows a name at some port; the name then has an address. Returns
 * null if the name is refused without a query.
 */
export function ruleForName(policy: EffectivePolicy, name: string): NamedRule | null {
  return policy.rules.find((rule) => coversName(rule.host, name)) ?? null
}

/**
 * Returns the rules that allow a connection, or null if there is none. A rule only ever allows: it
 * never revokes another one.
 */
export function planConnection(policy: EffectivePolicy, target: Target): Plan | null {
  const rules = policy.rules.filter((rule) => coversPort(rule, target.port) && coversTarget(rule, target))
  if (rules.length === 0) return null
  const read = (protocol: string) => rules.filter((rule) => protocolAt(rule, target.port) === protocol)
  return { tcp: read('tcp'), tls: read('tls'), http: read('http') }
}

/** Returns the verdict on one request. The first rule with matching methods and paths allows it. */
export function decideRequest(rules: readonly NamedRule[], method: string, path: string): RequestVerdict {
  const fitting = rules.find(
    ({ methods, paths }) =>
      (methods === null || methods.includes(method)) && (paths === null || matchesPath(paths, path)),
  )
  if (fitting === undefined) return { allowed: false, reason: rules.length === 0 ? 'no_rule' : 'request_denied' }
  return { allowed: true, rule: fitting.name }
}

/** Returns the first of the rules that allows every request, so that requests need not be read. */
export function wholeRule(rules: readonly NamedRule[]): NamedRule | null {
  return rules.find((rule) => !needsRequests(rule)) ?? null
}

/** Returns the secrets for a name. */
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
