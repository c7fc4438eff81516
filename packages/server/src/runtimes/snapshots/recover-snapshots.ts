import type { Runtimes } from '../runtimes.ts'
import { failSnapshot } from './snapshot-rows.ts'

/** The failure of a snapshot whose process died. */
const interrupted = { code: 'interrupted', message: 'The service stopped while it wrote this snapshot.' } as const

/**
 * Ends the snapshots that an earlier process of this host was writing. Their files have no owner
 * then, and the collector removes them.
 */
export async function failUnwritten(service: Runtimes): Promise<void> {
  const { store, thisHost } = service
  const rows = await store.db
    .selectFrom('snapshots')
    .selectAll()
    .where('host_id', '=', thisHost.hostId)
    .where('state', '=', 'writing')
    .execute()
  for (const row of rows) await failSnapshot(service, row, interrupted)
}
