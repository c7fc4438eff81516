import { notEnded } from '../../foundation/rows/not-ended.ts'
import type { Runtimes } from '../runtimes.ts'

/**
 * Forgets the ways into runtimes that have ended: who asks for one a moment after its end has made
 * it anew.
 */
export async function forgetEnded({ links, store }: Runtimes): Promise<void> {
  // Read first: a runtime that is made meanwhile is not among them.
  const { known } = links
  const rows = await store.db.selectFrom('runtimes').select('runtime_id').where(notEnded).execute()
  const live = new Set(rows.map(({ runtime_id }) => runtime_id))
  for (const id of known) if (!live.has(id)) links.forget(id)
}
