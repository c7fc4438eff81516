import { notEnded } from '../../foundation/rows/not-ended.ts'
import type { Queries } from '../../foundation/store/open-store.ts'

/**
 * Returns the sum of the memory limits of all runtimes, including those of builds, in MiB. Ended
 * and paused runtimes have no memory. All projects share the host, so the sum covers every project.
 */
export async function promisedMiB(db: Queries): Promise<number> {
  const runtimes = await db
    .selectFrom('runtimes')
    .select(({ fn, val }) => fn.coalesce(fn.sum<number>('memory_mib'), val(0)).as('promised'))
    .where(notEnded)
    .where('state', '!=', 'paused')
    .executeTakeFirstOrThrow()
  const builds = await db
    .selectFrom('build_resources')
    .select(({ fn, val }) => fn.coalesce(fn.sum<number>('memory_mib'), val(0)).as('promised'))
    .executeTakeFirstOrThrow()
  return Number(runtimes.promised) + Number(builds.promised)
}
