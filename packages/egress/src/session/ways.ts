import type { AttachedSecret, NamedRule } from '../contract/gateway-contract.ts'
import { type Plan, wholeRule } from '../policy/decide.ts'

/** The way in which a connection is forwarded, and its rule. */
export type Way =
  /** Bytes pass unread. */
  | { readonly type: 'tcp'; readonly rule: NamedRule }
  /** Bytes pass after the server name was checked. */
  | { readonly type: 'sni'; readonly rule: NamedRule }
  /** Each request is read. */
  | { readonly type: 'http' | 'terminated'; readonly rules: readonly NamedRule[]; readonly rule: NamedRule }

/** The protocol of a connection's first bytes. */
export type FirstBytes = 'tls' | 'other'

/**
 * Returns the way of a connection whose bytes need not be inspected. Returns null if the first
 * bytes decide.
 */
export function blindWay(plan: Plan, secrets: readonly AttachedSecret[]): Way | null {
  const [rule] = plan.tcp
  return rule === undefined || (plan.tls.length > 0 && secrets.length > 0) ? null : { type: 'tcp', rule }
}

/**
 * Returns the way of a connection by its first bytes, or null if no rule allows it. Rules that
 * allow more come first, because a rule never revokes another one. TLS that could pass unread is
 * read only for a secret.
 */
export function wayOf(plan: Plan, secrets: readonly AttachedSecret[], first: FirstBytes): Way | null {
  const blind = blindWay(plan, secrets)
  if (blind !== null) return blind
  const [tcp] = plan.tcp
  if (first === 'tls') {
    const [rule] = plan.tls
    const whole = wholeRule(plan.tls)
    if (whole !== null && secrets.length === 0) return { type: 'sni', rule: whole }
    if (rule !== undefined) return { type: 'terminated', rules: plan.tls, rule: whole ?? rule }
  } else {
    const [rule] = plan.http
    if (rule !== undefined) return { type: 'http', rules: plan.http, rule }
  }
  return tcp === undefined ? null : { type: 'tcp', rule: tcp }
}

/** Returns true if a plan still allows a connection that is forwarded in this way. */
export function stillAllows(plan: Plan | null, secrets: readonly AttachedSecret[], way: Way): boolean {
  if (plan === null) return false
  switch (way.type) {
    case 'tcp':
      return blindWay(plan, secrets) !== null
    case 'sni':
      return wayOf(plan, secrets, 'tls')?.type === 'sni' || blindWay(plan, secrets) !== null
    case 'http':
      return plan.http.length > 0
    case 'terminated':
      return plan.tls.length > 0
  }
}
