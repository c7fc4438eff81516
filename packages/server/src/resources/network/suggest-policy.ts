import { type EffectivePolicy, isReachable, makeEffectivePolicy, presets } from '@holt/egress'
import { hostForm, type PolicyBody, type PolicyRule, type SuggestedPolicy } from '@holt/protocol'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { yieldEventLoop } from '../../foundation/store/read-one-by-one.ts'
import type { DecisionLog } from './decision-log.ts'
import type { LoggedDecision } from './logged-decision.ts'

const batch = 1000

/**
 * The maximum number of rules of a suggestion. A program that needs more should not be allowed name
 * by name.
 */
const maxRules = 64

/**
 * The hosts that are examined before the event loop continues: some milliseconds with the largest
 * policy.
 */
const hostsPerTurn = 200

/** The maximum number of rules in a policy. */
const maxPolicyRules = 256

/** The suggested port of a name that was refused before a connection. */
const guessedPort = 443

/** The denied connections to one host. */
interface Denied {
  readonly ports: Set<number>
  readonly reasons: Set<string>
}

/**
 * Reads the denied connections of a runtime and returns the policy that would have allowed them.
 */
export async function suggestPolicy(
  log: Pick<DecisionLog, 'read'>,
  ref: RuntimeRef,
  { current, allowedNetworks }: { current: PolicyBody | null; allowedNetworks: readonly string[] },
): Promise<SuggestedPolicy> {
  const hosts = new Map<string, Denied>()
  let count = 0
  for (let after = 0; ; ) {
    const rows = await log.read(ref, after, batch)
    for (const { item } of rows) if (collect(hosts, item, allowedNetworks)) count += 1
    const last = rows.at(-1)
    if (last === undefined || rows.length < batch) break
    await yieldEventLoop()
    after = last.cursor
  }
  return suggestion(hosts, count, current ?? { allow: [], include: [], allow_all_hosts: false, deny: [] })
}

/**
 * Counts a denial that a rule could prevent. Connections that broke for another reason do not
 * count.
 */
function collect(
  hosts: Map<string, Denied>,
  { allowed, rule, type, name, address, port }: LoggedDecision,
  allowedNetworks: readonly string[],
): boolean {
  if (allowed || type === 'close' || !['no_rule', 'non_public', 'request_denied'].includes(rule)) return false
  const host = name ?? address
  if (host === null) return false
  const denied = hosts.get(host) ?? { ports: new Set(), reasons: new Set() }
  if (port !== null && type !== 'dns') denied.ports.add(port)
  // An address without a rule is refused before the check that it is public.
  denied.reasons.add(name === null && !isReachable(host, allowedNetworks) ? 'non_public' : rule)
  hosts.set(host, denied)
  return true
}

async function suggestion(
  hosts: ReadonlyMap<string, Denied>,
  denied: number,
  current: PolicyBody,
): Promise<SuggestedPolicy> {
  const add: PolicyRule[] = []
  const remarks: { host: string; message: string }[] = []
  const remark = (host: string, message: string) => remarks.push({ host, message })
  // Computed once for all hosts, because code inside determines their number.
  const { rules } = makeEffectivePolicy(current)
  const sorted = [...hosts].sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [index, [host, { ports, reasons }]] of sorted.entries()) {
    if (index % hostsPerTurn === 0) await yieldEventLoop()
    const ruleHost = hostOfRule(host)
    const missing = [...(ports.size === 0 ? [guessedPort] : ports)]
      .sort((a, b) => a - b)
      .filter((port) => ruleHost === null || !isAllowed(rules, ruleHost, port))
    if (reasons.has('non_public'))
      remark(host, 'is not public: only the operator of the service can allow it (HOLT_EGRESS_ALLOWED_NETWORKS)')
    else if (ruleHost === null) remark(host, 'cannot be the name in a rule')
    else if (missing.length === 0) {
      if (reasons.has('request_denied')) remark(host, 'is allowed for other methods or paths only')
    } else if (add.length >= maxRules || add.length + current.allow.length >= maxPolicyRules)
      remark(host, 'exceeds the number of rules')
    else {
      if (ports.size === 0) remark(host, `was refused before a port was known: ${guessedPort} is a guess`)
      if (hostForm(ruleHost) === 'network')
        remark(host, 'is an address: a later owner of the address is allowed as well')
      const preset = presetOf(host)
      if (preset !== null) remark(host, `is in the preset ${preset}`)
      add.push({ host: ruleHost, ports: missing.slice(0, maxRules) })
    }
  }
  const { include, allow_all_hosts, deny } = current
  return { add, policy: { allow: [...current.allow, ...add], include, allow_all_hosts, deny }, remarks, denied }
}

/** Returns a host's name in a rule, or null if no rule can name it. */
function hostOfRule(host: string): string | null {
  if (hostForm(host) === 'name') return host
  const network = `${host}/32`
  return hostForm(network) === 'network' && !host.includes(':') ? network : null
}

/** Returns true if the current policy has been widened since. */
function isAllowed(rules: EffectivePolicy['rules'], host: string, port: number): boolean {
  return rules.some(
    (rule) =>
      (rule.allPorts || rule.ports.includes(port)) &&
      (rule.host === host ||
        (hostForm(host) === 'name' &&
          (rule.host === '*' || (rule.host.startsWith('*.') && host.endsWith(rule.host.slice(1)))))),
  )
}

function presetOf(host: string): string | null {
  return Object.entries(presets).find(([, hosts]) => hosts.some((one) => one.host === host))?.[0] ?? null
}
