import type { QuotaName, Quotas, QuotaUse, SetQuotas } from '@holt/sdk'
import { bytesText, mibText, numberText } from '../parts/amount-text.ts'

/** A quota: what it bounds, and how its amounts are written. */
interface QuotaField {
  readonly title: string
  readonly text: (amount: number) => string
  /** The unit in which its field takes a number. */
  readonly unit?: string
}

/** The quotas of a project, in the order of the service. */
export const quotaFields: Readonly<Record<QuotaName, QuotaField>> = {
  runtimes: { title: 'Runtimes', text: numberText },
  paused_runtimes: { title: 'Paused runtimes', text: numberText },
  cpu: { title: 'vCPUs', text: numberText },
  memory_mib: { title: 'Memory', text: mibText, unit: 'MiB' },
  disk_mib: { title: 'Disk', text: mibText, unit: 'MiB' },
  snapshot_bytes: { title: 'Snapshots', text: bytesText, unit: 'bytes' },
  template_bytes: { title: 'Templates', text: bytesText, unit: 'bytes' },
  builds: { title: 'Builds', text: numberText },
  requests_per_sec: { title: 'Requests per second', text: numberText },
  request_burst: { title: 'Requests at once', text: numberText },
}

/** The names of the quotas, in order. */
export const quotaOrder = Object.keys(quotaFields) as readonly QuotaName[]

/** Returns true for a quota whose use is known. Rates have none. */
export function isUsed(name: QuotaName): name is keyof QuotaUse {
  return name !== 'requests_per_sec' && name !== 'request_burst'
}

/** The texts of the form of quotas. Empty: no limit. `default`: the setting of the service. */
export type QuotaTexts = Readonly<Record<QuotaName, string>>

/** Returns the texts of the form. Without quotas, each is that of the service. */
export function textsOfQuotas(quotas: Quotas | null): QuotaTexts {
  const textOf = (name: QuotaName) => (quotas === null ? 'default' : (quotas[name]?.toString() ?? ''))
  return Object.fromEntries(quotaOrder.map((name) => [name, textOf(name)])) as QuotaTexts
}

/** Returns the quotas that differ from the texts of the form as it was. */
export function changedQuotas(before: QuotaTexts, after: QuotaTexts): SetQuotas {
  const changed = quotaOrder.filter((name) => before[name] !== after[name])
  return Object.fromEntries(changed.map((name) => [name, amountOf(after[name])])) as SetQuotas
}

function amountOf(text: string): number | null | string {
  const word = text.trim()
  if (word === '') return null
  return /^\d+(\.\d+)?$/.test(word) ? Number(word) : word
}
