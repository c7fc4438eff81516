import { parseAddress } from './addresses/parse-address.ts'
import { isSynthetic } from './addresses/synthetic-addresses.ts'
import type {
  AttachedSecret,
  DenialReason,
  EffectivePolicy,
  Inspection,
  TestedDecision,
} from './contract/gateway-contract.ts'
import { canonicalName } from './names/canonical-name.ts'
import { decideRequest, type Plan, planConnection, secretsFor, type Target } from './policy/decide.ts'
import { wayOf } from './session/ways.ts'
import type { Upstream } from './upstream/find-upstream.ts'

/** The connection and request to test. */
export interface TestTarget {
  readonly host: string
  readonly port: number
  readonly method?: string
  readonly path?: string
}

const inspections = { tcp: 'none', sni: 'sni', http: 'host', terminated: 'terminated' } as const

const details: Partial<Readonly<Record<DenialReason, string>>> = {
  no_rule: 'No rule allows this host at this port.',
  bad_request: 'This is neither a host name nor an address with a port.',
  request_denied: 'Rules allow this host, but no rule allows this method and path.',
  non_public:
    'It has no address that is public. The operator of this service can allow others: HOLT_EGRESS_ALLOWED_NETWORKS.',
  denied_network: 'It has no address outside of the networks that the policy denies.',
  name_not_found: 'A rule allows it, but the name does not exist or has no address.',
  resolver_failed: 'A rule allows it, but no DNS server answered.',
  unknown_address: 'This is a synthetic address, which is valid only inside the runtime. Test the name instead.',
}

/**
 * Returns the decision for a connection without making it. The name is resolved only if a rule
 * allows it.
 */
export async function testConnection(
  asked: TestTarget,
  context: {
    policy: EffectivePolicy
    secrets: readonly AttachedSecret[]
    findUpstream(target: Target): Promise<Upstream>
  },
): Promise<TestedDecision> {
  const target = targetOf(asked)
  if (target === null) return denied('bad_request', null)
  if (target.name === null && isSynthetic(target.address)) return denied('unknown_address', null)
  const plan = planConnection(context.policy, target)
  if (plan === null) return denied('no_rule', null)
  const way = wayOf(plan, secretsFor(context.secrets, target.name), plan.tls.length > 0 ? 'tls' : 'other')
  const inspection = way === null ? null : inspections[way.type]
  const rules = way?.type === 'http' ? plan.http : plan.tls
  const isRead = way?.type === 'http' || way?.type === 'terminated'
  const path = (asked.path ?? '/').split('?', 1)[0] ?? '/'
  const asksRequest = isRead && (asked.method !== undefined || asked.path !== undefined)
  const verdict = asksRequest ? decideRequest(rules, asked.method ?? 'GET', path) : null
  if (verdict?.allowed === false) return denied(verdict.reason, inspection)
  const upstream = await context.findUpstream(target)
  if (upstream.type === 'refused') return denied(upstream.reason, inspection)
  return {
    allowed: true,
    rule: verdict?.allowed === true ? verdict.rule : (way?.rule.name ?? ''),
    inspection,
    addresses: upstream.addresses.map(({ text }) => text),
    detail:
      asksRequest || !needsRequest(plan, isRead) ? 'Allowed.' : 'Allowed, but only some methods or paths: test one.',
  }
}

function needsRequest(plan: Plan, isRead: boolean): boolean {
  return isRead && [...plan.http, ...plan.tls].every((rule) => rule.methods !== null || rule.paths !== null)
}

function targetOf({ host, port }: TestTarget): Target | null {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return null
  const address = parseAddress(host)
  if (address !== null) return { name: null, address, port }
  const name = canonicalName(host)
  return name === null ? null : { name, port }
}

function denied(reason: DenialReason, inspection: Inspection | null): TestedDecision {
  return { allowed: false, rule: reason, inspection, addresses: [], detail: details[reason] ?? 'Not allowed.' }
}
