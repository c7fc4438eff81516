import type { AttachedSecret, NamedRule } from '../contract.ts'
import { type Plan, wholeRule } from '../policy/decide.ts'

/** How a connection is carried, and by which rule. */
export type Way =
  /** Bytes pass unread. */
  | { readonly type: 'tcp'; readonly rule: NamedRule }
  /** Bytes pass after the server name was checked. */
  | { readonly type: 'sni'; readonly rule: NamedRule }
  /** Each request is read. */
  | { readonly type: 'http' | 'terminated'; readonly rules: readonly NamedRule[]; readonly rule: NamedRule }

/** What the first bytes of a connection turned out to be. */
export type FirstBytes = 'tls' | 'other'

/** The way of a connection whose bytes need not be looked at. Null: the first bytes tell. */
export function blindWay(plan: Plan, secrets: readonly AttachedSecret[]): Way | null {
  const [rule] = plan.tcp
  return rule === undefined || (plan.tls.length > 0 && secrets.length > 0) ? null : { type: 'tcp', rule }
}

/**
 * The way of a connection by what its first bytes are; null when no rule carries that. Rules that
 * allow more go first, since a rule takes nothing away that another one gives; only a secret makes
 * TLS be read that could have passed.
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

/**
 * True when a plan still allows a connection that is carried in some way, with these requests so
 * far.
 */
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
