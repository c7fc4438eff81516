import { type QuotaName, type Quotas, type QuotaUse, quotaNames, usualBurst } from '@holt/protocol'
import { bytes, mib } from './table.ts'

/**
 * A quota as readable text: its name, its use (sizes rounded) and its limit (exact, in the form of
 * `--quota`).
 */
export interface QuotaLine {
  readonly name: QuotaName
  readonly used: string
  readonly limit: string
}

/** Returns every quota, in the order of the API. */
export function quotaLines(quotas: Quotas, use: QuotaUse): readonly QuotaLine[] {
  return quotaNames.map((name) => {
    const limit = quotas[name]
    const used = name in use ? use[name as keyof QuotaUse] : null
    return {
      name,
      used: used === null ? '-' : amountOf(name, used),
      limit: limit === null ? unlimited(name, quotas) : limitOf(name, limit),
    }
  })
}

/**
 * Returns the text for a quota without a value. The default burst is the requests of one second.
 */
function unlimited(name: QuotaName, { requests_per_sec: perSec }: Quotas): string {
  return name === 'request_burst' && perSec !== null ? `${usualBurst(perSec)} (a second's worth)` : 'no limit'
}

function limitOf(name: QuotaName, value: number): string {
  const unitBytes = name.endsWith('_bytes') ? 1 : name.endsWith('_mib') ? 2 ** 20 : 0
  const wholeMiB = (value * unitBytes) / 2 ** 20
  return wholeMiB > 0 && Number.isInteger(wholeMiB) ? mib(wholeMiB) : String(value)
}

/**
 * Returns the quota with the highest use, in percent: `memory_mib 92%`. Empty if nothing is
 * limited.
 */
export function tightestQuota(quotas: Quotas, use: QuotaUse): string {
  const shares = (Object.keys(use) as (keyof QuotaUse)[]).flatMap((name) => {
    const limit = quotas[name]
    if (limit === null) return []
    // A limit of 0 counts as full, even without any use.
    return [{ name, percent: limit === 0 ? 100 : Math.floor((100 * use[name]) / limit) }]
  })
  const [tightest] = shares.toSorted((one, other) => other.percent - one.percent)
  return tightest === undefined ? '' : `${tightest.name} ${tightest.percent}%`
}

/** Returns an amount of a quota for people. Sizes are rounded. */
export function amountOf(name: string, value: number): string {
  if (name.endsWith('_bytes')) return bytes(value)
  return name.endsWith('_mib') ? mib(value) : String(value)
}
