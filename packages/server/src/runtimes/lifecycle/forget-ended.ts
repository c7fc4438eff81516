import { notEnded } from '../../foundation/rows/not-ended.ts'
import type { Runtimes } from '../runtimes.ts'

/**
 * Forgets the connections into ended runtimes. A request shortly after the end may have opened one
 * again.
 */
export async function forgetEnded({ links, store, thisHost }: Runtimes): Promise<void> {
  // Read first: a runtime that is made meanwhile is not among them.
  const { known } = links
  const rows = await store.db
    .selectFrom('runtimes')
    .select('runtime_id')
    // Followers of a runtime that has left this host wait until another one resumes it.
    .where(({ eb, or, and }) =>
      or([
        eb('host_id', '=', thisHost.hostId),
        and([eb('host_id', 'is', null), eb('near_host_id', '=', thisHost.hostId)]),
      ]),
    )
    .where(notEnded)
    .execute()
  const live = new Set(rows.map(({ runtime_id }) => runtime_id))
  for (const id of known) if (!live.has(id)) links.forget(id)
}
