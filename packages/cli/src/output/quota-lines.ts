import { type QuotaName, type Quotas, type QuotaUse, quotaNames } from '@holt/protocol'
import { bytes, mib } from './table.ts'

/** A quota, how much of it is used and how much there may be, for people. */
export interface QuotaLine {
  readonly name: QuotaName
  readonly used: string
  readonly limit: string
}

/** Every quota, in the order of the API. */
export function quotaLines(quotas: Quotas, use: QuotaUse): readonly QuotaLine[] {
  return quotaNames.map((name) => {
    const limit = quotas[name]
    const used = name in use ? use[name as keyof QuotaUse] : null
    return {
      name,
      used: used === null ? '-' : amount(name, used),
      limit: limit === null ? 'no limit' : amount(name, limit),
    }
  })
}

function amount(name: QuotaName, value: number): string {
  if (name.endsWith('_bytes')) return bytes(value)
  return name.endsWith('_mib') ? mib(value) : String(value)
}
