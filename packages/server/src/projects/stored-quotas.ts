import { type QuotaName, type Quotas, quotaNames, type SetQuotas } from '@holt/protocol'

/** What is said of a project's quotas; the settings say the rest. Null: no limit. */
export type StoredQuotas = { readonly [Quota in QuotaName]?: number | null }

/** Nothing is limited. */
export const noQuotas = Object.fromEntries(quotaNames.map((name) => [name, null])) as Quotas

/** What holds for a project. */
export function quotasOf({ quotas_json }: { readonly quotas_json: string }, defaults: Quotas): Quotas {
  return { ...defaults, ...(JSON.parse(quotas_json) as StoredQuotas) }
}

/** What is stored after a change. */
export function changedQuotas(stored: StoredQuotas, change: SetQuotas): StoredQuotas {
  const entries = Object.entries({ ...stored, ...change }).filter(
    ([, value]) => value !== 'default' && value !== undefined,
  )
  return Object.fromEntries(entries) as StoredQuotas
}
