import type { ThisHost } from '../../foundation/host/this-host.ts'
import { notEnded } from '../../foundation/rows/not-ended.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { Arrivals } from './arrivals-under-way.ts'

/**
/**
 * Returns the sum of the memory limits of a host's runtimes, including those of builds, in MiB.
 * Ended and paused runtimes have no memory. All projects share the host, so the sum covers every
 * project. Arrivals count once, whether or not their rows can be read already.
 */
export async function promisedMiB(db: Queries, { hostId }: ThisHost, arrivals: Arrivals = new Map()): Promise<number> {
  const arriving = [...arrivals.keys()]
  const runtimes = await db
    .selectFrom('runtimes')
    .select(({ fn, val }) => fn.coalesce(fn.sum<number>('memory_mib'), val(0)).as('promised'))
    .where('host_id', '=', hostId)
    .where(notEnded)
    .where('state', '!=', 'paused')
    .$if(arriving.length > 0, (query) => query.where('runtime_id', 'not in', arriving))
    .executeTakeFirstOrThrow()
  const builds = await db
    .selectFrom('build_resources')
    .select(({ fn, val }) => fn.coalesce(fn.sum<number>('memory_mib'), val(0)).as('promised'))
    .where('host_id', '=', hostId)
    .$if(arriving.length > 0, (query) => query.where('resource_id', 'not in', arriving))
    .executeTakeFirstOrThrow()
  return arrivals.values().reduce((sum, each) => sum + each, Number(runtimes.promised) + Number(builds.promised))
}
