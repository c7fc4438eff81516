import type { Queries } from '../store/open-store.ts'
import { endedStates } from './states.ts'

/** The memory limits of all runtimes that have not ended together, those of builds among them. The host is one for all projects, so this sum is over every project. */
export async function promisedMiB(db: Queries): Promise<number> {
  const runtimes = await db
    .selectFrom('runtimes')
    .select(({ fn, val }) => fn.coalesce(fn.sum<number>('memory_mib'), val(0)).as('promised'))
    .where('state', 'not in', endedStates)
    .executeTakeFirstOrThrow()
  const builds = await db
    .selectFrom('build_resources')
    .select(({ fn, val }) => fn.coalesce(fn.sum<number>('memory_mib'), val(0)).as('promised'))
    .executeTakeFirstOrThrow()
  return Number(runtimes.promised) + Number(builds.promised)
}
