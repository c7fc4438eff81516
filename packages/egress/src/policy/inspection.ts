import type { AttachedSecret, EffectivePolicy, Inspection, NamedRule } from '../contract/gateway-contract.ts'
import { coversHost, hostsOverlap, isForNames, needsRequests, protocolAt } from './match-host.ts'

/** The inspection of a rule's connections, and its limits. */
export interface RuleInspection {
  readonly rule: string
  /** The rule's host, or the narrower host of a secret below it. */
  readonly host: string
  readonly ports: readonly number[]
  /** True: this is also for every port that no other entry of the rule lists. */
  readonly other_ports: boolean
  readonly inspection: Inspection
  /** The secrets that are inserted there. */
  readonly secrets: readonly string[]
  /** One sentence about the parts that the gateway cannot see. */
  readonly unseen: string
}

const sentences: Readonly<Record<Inspection, string>> = {
  none: 'The bytes are forwarded unread: the gateway knows only the address that it dialled for the name, not the content.',
  sni: 'Only the server name at the start of TLS is checked. Requests inside cannot be seen. If that address serves other names too (a CDN), a request may name one of those (domain fronting). Encrypted client hello may hide another name behind this one.',
  host: 'The Host, method and path of each plain HTTP request are checked. The gateway cannot see how the server uses a request, nor the bytes after a switch to WebSocket.',
  terminated:
    'TLS is ended at the gateway, and each request is checked: name, Host, method and path, so fronting is refused. The gateway cannot see how the server uses a request, nor the bytes after a switch to WebSocket.',
}

/** The ports whose default protocol is not `tcp`, and a port that stands for all others. */
const portsWithProtocol = [80, 443]
const anyOtherPort = 0

/** TLS to an address has no name for a certificate. */
const unreadableNetwork =
  'TLS to an address cannot be ended at the gateway, so requests cannot be checked. Such connections are refused.'

/**
 * Returns the inspection of each rule's connections. A rule whose ports are inspected differently
 * has an entry for each way. So has a rule with secrets for a part of its hosts.
 */
export function inspectionOf(
  policy: EffectivePolicy,
  secrets: readonly Pick<AttachedSecret, 'name' | 'hosts'>[] = [],
): readonly RuleInspection[] {
  return policy.rules.flatMap((rule) => {
    const ways = new Map<Inspection, number[]>()
    const others = rule.allPorts ? inspectionAt(rule, anyOtherPort) : null
    for (const port of rule.allPorts ? new Set([...rule.ports, ...portsWithProtocol]) : rule.ports) {
      const way = inspectionAt(rule, port)
      ways.set(way, [...(ways.get(way) ?? []), port])
    }
    if (others !== null) ways.set(others, ways.get(others) ?? [])
    return [...ways].flatMap(([inspection, ports]) => {
      const takesSecrets = isForNames(rule) && (inspection === 'sni' || inspection === 'terminated')
      return entriesOf({
        rule,
        inspection,
        ports,
        otherPorts: inspection === others,
        secrets: takesSecrets ? secrets : [],
      })
    })
  })
}

function inspectionAt(rule: NamedRule, port: number): Inspection {
  const protocol = protocolAt(rule, port)
  if (protocol === 'tcp') return 'none'
  if (protocol === 'http') return 'host'
  return needsRequests(rule) ? 'terminated' : 'sni'
}

interface Way {
  readonly rule: NamedRule
  readonly inspection: Inspection
  readonly ports: readonly number[]
  readonly otherPorts: boolean
  readonly secrets: readonly Pick<AttachedSecret, 'name' | 'hosts'>[]
}

/**
 * Returns the entries of a rule for one way. A secret for all of the rule's names makes the rule
 * terminated. A secret for some of them gets an entry of its own.
 */
function entriesOf({ rule, inspection, ports, otherPorts, secrets }: Way): RuleInspection[] {
  const entry = (host: string, seen: Inspection, names: readonly string[]): RuleInspection => {
    const unseen = seen === 'terminated' && !isForNames(rule) ? unreadableNetwork : sentences[seen]
    return { rule: rule.name, host, ports, other_ports: otherPorts, inspection: seen, secrets: names, unseen }
  }
  const hosts = new Map<string, Set<string>>()
  for (const secret of secrets)
    for (const host of secret.hosts) {
      if (!hostsOverlap(rule.host, host)) continue
      const narrower = coversHost(host, rule.host) ? rule.host : host
      hosts.set(narrower, (hosts.get(narrower) ?? new Set()).add(secret.name))
    }
  const whole = hosts.get(rule.host)
  hosts.delete(rule.host)
  const parts = [...hosts].map(([host, names]) => entry(host, 'terminated', [...names]))
  return [entry(rule.host, whole === undefined ? inspection : 'terminated', [...(whole ?? [])]), ...parts]
}
