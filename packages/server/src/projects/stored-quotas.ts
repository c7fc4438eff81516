import { HoltError, type QuotaName, Quotas, quotaNames, type SetQuotas } from '@holt/protocol'
import { storedJson } from '../store/stored-json.ts'

/** What is said of a project's quotas; the settings say the rest. Null: no limit. */
export type StoredQuotas = { readonly [Quota in QuotaName]?: number | null }

/** Nothing is limited. */
export const noQuotas = Object.fromEntries(quotaNames.map((name) => [name, null])) as Quotas

const Stored = Quotas.partial()

/** What is stored of a project's quotas; null where its row is damaged. */
export function storedQuotas({ quotas_json }: { readonly quotas_json: string }): StoredQuotas | null {
  const { data } = Stored.safeParse(storedJson(quotas_json))
  return (data as StoredQuotas | undefined) ?? null
}

/**
 * What holds for a project. Throws `unavailable` where nobody can tell: what its quotas bound is
 * refused then.
 */
export function quotasOf(row: { readonly quotas_json: string }, defaults: Quotas): Quotas {
  const stored = storedQuotas(row)
  if (stored === null) throw damagedQuotas()
  return { ...defaults, ...stored }
}

/** The error for a project whose quotas are damaged. */
export function damagedQuotas(): HoltError {
  return new HoltError('unavailable', "What is stored of the project's quotas is damaged.", {
    hint: 'Have the operator set them anew, each that the project is to have.',
  })
}

/** What is stored after a change. */
export function changedQuotas(stored: StoredQuotas, change: SetQuotas): StoredQuotas {
  const entries = Object.entries({ ...stored, ...change }).filter(
    ([, value]) => value !== 'default' && value !== undefined,
  )
  return Object.fromEntries(entries) as StoredQuotas
}
