import { isQuotaAmount, parseMiB, type QuotaName, quotaNames, type SetQuotas } from '@holt/protocol'
import { InvalidArgumentError } from 'commander'

/**
 * The syntax of a quota: an amount (also with a unit, for sizes), `none` for no limit, `default`
 * for the service's own setting.
 */
export const quotaFlag = '-q, --quota <name=amount...>'

/** The text of `--help` about quotas. */
export const quotaHelp = `its quotas: ${quotaNames.join(', ')}; each an amount, none or default`

/** Collects `NAME=AMOUNT`. A later one wins. */
export function quota(text: string, before: SetQuotas = {}): SetQuotas {
  const [, name = '', amount = ''] = /^([a-z_]+)=(.+)$/.exec(text) ?? []
  if (!isQuotaName(name))
    throw new InvalidArgumentError(`It must be NAME=AMOUNT, where NAME is one of ${quotaNames.join(', ')}.`)
  return { ...before, [name]: amountOf(name, amount) }
}

function isQuotaName(text: string): text is QuotaName {
  return (quotaNames as readonly string[]).includes(text)
}

function amountOf(name: QuotaName, text: string): number | null | 'default' {
  if (text === 'none') return null
  if (text === 'default') return text
  const mib = /^[\d.]+$/.test(text) ? null : parseMiB(text)
  const value =
    mib === null ? Number(text) : name.endsWith('_bytes') ? mib * 2 ** 20 : name.endsWith('_mib') ? mib : Number.NaN
  if (isQuotaAmount(name, value)) return value
  const units = /_(?:mib|bytes)$/.test(name) ? ' or a size such as 8GiB' : ''
  throw new InvalidArgumentError(`${name} must be a number${units}, none or default.`)
}
