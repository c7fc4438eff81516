import { HoltError, type QuotaName, Quotas, quotaNames, type SetQuotas } from '@holt/protocol'
import { storedJson } from '../store/stored-json.ts'

/** The stored quotas of a project. The settings supply the others. Null: no limit. */
export type StoredQuotas = { readonly [Quota in QuotaName]?: number | null }

/** Quotas without any limit. */
export const noQuotas = Object.fromEntries(quotaNames.map((name) => [name, null])) as Quotas

const Stored = Quotas.partial()

/** Returns the stored quotas of a project, or null if its row is damaged. */
export function storedQuotas({ quotas_json }: { readonly quotas_json: string }): StoredQuotas | null {
  const { data } = Stored.safeParse(storedJson(quotas_json))
  return (data as StoredQuotas | undefined) ?? null
}

/**
 * Returns the effective quotas of a project. Throws `unavailable` if its row is damaged. The
 * limited actions are refused then.
 */
export function quotasOf(row: { readonly quotas_json: string }, defaults: Quotas): Quotas {
  const stored = storedQuotas(row)
  if (stored === null) throw damagedQuotas()
  return { ...defaults, ...stored }
}

/** Returns the error for a project with damaged quotas. */
export function damagedQuotas(): HoltError {
  return new HoltError('unavailable', "The project's stored quotas are damaged.", {
    hint: 'Ask the operator to set all quotas of the project again.',
  })
}

/** Returns the stored quotas after a change. */
export function changedQuotas(stored: StoredQuotas, change: SetQuotas): StoredQuotas {
  const entries = Object.entries({ ...stored, ...change }).filter(
    ([, value]) => value !== 'default' && value !== undefined,
  )
  return Object.fromEntries(entries) as StoredQuotas
}
