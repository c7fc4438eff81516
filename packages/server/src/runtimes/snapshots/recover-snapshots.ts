import type { Runtimes } from '../runtimes.ts'
import { failSnapshot } from './snapshot-rows.ts'

/** The failure of a snapshot whose process died. */
const interrupted = { code: 'interrupted', message: 'The service stopped while it wrote this snapshot.' } as const

/**
 * Ends the snapshots that an earlier process was writing. Their files have no owner then, and the
 * collector removes them.
 */
export async function failUnwritten(service: Runtimes): Promise<void> {
  const rows = await service.store.db.selectFrom('snapshots').selectAll().where('state', '=', 'writing').execute()
  for (const row of rows) await failSnapshot(service, row, interrupted)
}
