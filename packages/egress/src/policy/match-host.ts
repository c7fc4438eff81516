import { hostForm, protocolOf, type RuleProtocol } from '@holt/protocol'
import type { NamedRule } from '../contract.ts'

/**
 * True when a canonical name is the rule host, or lies below a `*.name`. A network covers no name:
 * what a name resolves to is no way around rules on names.
 */
export function coversName(host: string, name: string): boolean {
  if (host === '*' || host === name) return true
  return host.startsWith('*.') && name.endsWith(host.slice(1)) && name.length > host.length - 1
}

/**
 * True when every name that `inner` covers is covered by `outer`; both are a name or a `*.name`.
 */
export function coversHost(outer: string, inner: string): boolean {
  if (!inner.startsWith('*.')) return coversName(outer, inner)
  return outer === '*' || outer === inner || (outer.startsWith('*.') && inner.endsWith(outer.slice(1)))
}

/** True when some name is covered by both. */
export function hostsOverlap(one: string, other: string): boolean {
  return coversHost(one, other) || coversHost(other, one)
}

/** True when the rule is about names at all. */
export function isForNames(rule: NamedRule): boolean {
  return hostForm(rule.host) !== 'network'
}

/** True when the rule can only be judged on requests. */
export function needsRequests(rule: NamedRule): boolean {
  return rule.methods !== null || rule.paths !== null
}

/**
 * How a rule's connections are read at one of its ports. A rule on requests is never `tcp`: without
 * a protocol of its own it is for TLS.
 */
export function protocolAt(rule: NamedRule, port: number): RuleProtocol {
  const protocol = rule.protocol ?? protocolOf(port)
  return protocol === 'tcp' && needsRequests(rule) ? 'tls' : protocol
}
