import { hostForm, protocolOf, type RuleProtocol } from '@holt/protocol'
import type { NamedRule } from '../contract/gateway-contract.ts'

/**
 * Returns true if a canonical name is the rule's host or is below a `*.name`. A network covers no
 * name: the addresses of a name must not bypass rules on names.
 */
export function coversName(host: string, name: string): boolean {
  if (host === '*' || host === name) return true
  return host.startsWith('*.') && name.endsWith(host.slice(1)) && name.length > host.length - 1
}

/** Returns true if `outer` covers every name that `inner` covers. Both are a name or a `*.name`. */
export function coversHost(outer: string, inner: string): boolean {
  if (!inner.startsWith('*.')) return coversName(outer, inner)
  return outer === '*' || outer === inner || (outer.startsWith('*.') && inner.endsWith(outer.slice(1)))
}

/** Returns true if both cover a common name. */
export function hostsOverlap(one: string, other: string): boolean {
  return coversHost(one, other) || coversHost(other, one)
}

/** Returns true if the rule is about names. */
export function isForNames(rule: NamedRule): boolean {
  return hostForm(rule.host) !== 'network'
}

/** Returns true if the rule is for the port. */
export function coversPort({ ports, allPorts }: NamedRule, port: number): boolean {
  return allPorts || ports.includes(port)
}

/** Returns true if the rule can only be decided on requests. */
export function needsRequests(rule: NamedRule): boolean {
  return rule.methods !== null || rule.paths !== null
}

/**
 * Returns the protocol of a rule's connections at one of its ports. A rule on requests is never
 * `tcp`: without a protocol of its own it is for TLS.
 */
export function protocolAt(rule: NamedRule, port: number): RuleProtocol {
  const protocol = rule.protocol ?? protocolOf(port)
  return protocol === 'tcp' && needsRequests(rule) ? 'tls' : protocol
}
