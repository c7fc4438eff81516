import { notEnded } from '../../foundation/rows/not-ended.ts'
import type { Queries } from '../../foundation/store/open-store.ts'

/**
 * The memory limits together of all runtimes that have memory, those of builds among them: one that
 * has ended or is paused has none. The host is one for all projects, so this sum is over every
 * project.
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
