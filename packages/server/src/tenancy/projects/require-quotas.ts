import { HoltError, type QuotaName, type QuotaUse } from '@holt/protocol'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import { type Refuse, throwRefusal } from '../../foundation/errors/refuse.ts'
import { quotasOf } from '../../foundation/rows/stored-quotas.ts'
import { systemProjectId } from '../../foundation/rows/system-project.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { Tenancy } from '../tenancy.ts'
import { quotaUse } from './quota-use.ts'

/** The amounts that a request would add to a project's use. */
export type QuotaAdds = Partial<QuotaUse>

/** A quota of a project, its use, and the requested addition. */
export interface QuotaDemand {
  readonly quota: keyof QuotaUse
  readonly limit: number
  readonly used: number
  readonly wanted: number
}

/**
 * Refuses a request that would exceed the project's quotas, and returns the quotas that limit it.
 * The result is exact in the change of the project that adds the amounts, because such changes run
 * one after another. Outside of one it is a forecast.
 */
export async function requireQuotas(
  { projects }: Pick<Tenancy, 'projects'>,
  db: Queries,
  { projectId, adds }: { projectId: string; adds: QuotaAdds },
  refuse: Refuse = throwRefusal,
): Promise<readonly QuotaDemand[]> {
  if (projectId === systemProjectId) return []
  const project = await db
    .selectFrom('projects')
    .select('quotas_json')
    .where('project_id', '=', projectId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (project === undefined) throw new HoltError('unauthenticated', 'The project was deleted.')
  const quotas = quotasOf(project, projects.defaults)
  const limited = (Object.keys(adds) as (keyof QuotaUse)[]).filter((name) => quotas[name] !== null)
  if (limited.length === 0) return []
  const used = (await quotaUse(db, [projectId]))(projectId)
  const demands = limited.map((quota) => ({
    quota,
    limit: quotas[quota] ?? 0,
    used: used[quota],
    wanted: adds[quota] ?? 0,
  }))
  for (const demand of demands) requireQuota(demand, refuse)
  return demands
}

/** The tolerance for vCPUs, which are floating point sums of thousandths. */
const leeway = 1e-6

/** Refuses a request that would exceed one quota. */
export function requireQuota({ quota, limit, used, wanted }: QuotaDemand, refuse: Refuse): void {
  if (wanted <= 0 || used + wanted <= limit + leeway) return
  const more = used >= limit - leeway ? '' : ` This needs ${amountOf(wanted)} more.`
  refuse(quotaExceeded(`Quota ${quota}: ${amountOf(used)} of ${amountOf(limit)} used.${more}`, { quota, limit, used }))
}

/** Returns a number for people, without the noise of floating point. */
function amountOf(value: number): string {
  return String(Math.round(value * 1000) / 1000)
}

/** Returns the error for an exceeded quota. */
function quotaExceeded(
  message: string,
  details: { readonly quota: QuotaName; readonly limit: number; readonly used: number },
): HoltError {
  return limitReached('quota_exceeded', message, details)
}
