import { sql } from 'kysely'
import { aloneWithService } from '../foundation/store/alone.ts'
import { dayMs } from '../foundation/time/day.ts'
import type { Builds } from './builds.ts'
import { removeOldContexts } from './remove-contexts.ts'

/** The time in milliseconds, and the number for a project, for which ended builds are kept. */
const kept = { ms: 30 * dayMs, ofProject: 1000 }

/**
 * The bound of all build logs of a project, in bytes. The oldest are removed first, and readers are
 * told.
 */
const maxLogBytes = 256 * 2 ** 20

/** Removes expired builds, logs and contexts of every project. Running builds stay. */
export async function removeOldBuilds(service: Builds): Promise<void> {
  const { store, now } = service
  await store.db
    .deleteFrom('builds')
    .where('ended_at', '<', now() - kept.ms)
    .execute()
  await store.change(aloneWithService, async (changes) => {
    await sql`
      DELETE FROM builds WHERE ended_at IS NOT NULL AND seq IN (
        SELECT seq FROM (SELECT seq, row_number() OVER (PARTITION BY project_id ORDER BY seq DESC) AS place FROM builds) AS numbered
        WHERE place > ${kept.ofProject})`.execute(changes)
    const old = sql`
      SELECT build_id FROM (
        SELECT build_id, ended_at, log_bytes, sum(log_bytes) OVER (PARTITION BY project_id ORDER BY seq DESC) AS total FROM builds) AS summed
      WHERE total > ${maxLogBytes} AND ended_at IS NOT NULL AND log_bytes > 0`
    await sql`DELETE FROM build_logs WHERE build_id IN (${old})`.execute(changes)
    await sql`UPDATE builds SET log_bytes = 0 WHERE build_id IN (${old})`.execute(changes)
  })
  await removeOldContexts(service)
}
