import { type QuotaName, type Quotas, quotaNames, quotaSchemas } from '@holt/protocol'
import { noQuotas } from '../rows/stored-quotas.ts'
import { list } from './list-setting.ts'

/**
 * Quotas as a setting: `runtimes=20,requests_per_sec=100`. A quota that is not named has no limit.
 */
export const ProjectQuotasSetting = list(
  quotaOf,
  `must be NAME=NUMBER, separated by commas, where NAME is one of ${quotaNames.join(', ')}`,
).transform((quotas): Quotas => ({ ...noQuotas, ...Object.fromEntries(quotas) }))

function quotaOf(text: string): readonly [QuotaName, number] | null {
  const [, name = '', number = ''] = /^(\w+)=(\d+(?:\.\d+)?)$/.exec(text) ?? []
  if (!Object.hasOwn(quotaSchemas, name)) return null
  const quota = name as QuotaName
  const parsed = quotaSchemas[quota].safeParse(Number(number))
  return parsed.success ? [quota, parsed.data] : null
}
