import { aloneWithService } from '../../foundation/store/alone.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import { endUnusedKey } from '../../tenancy/keys/bootstrap.ts'

/** The time for which the row of a front that has left is kept, in milliseconds. */
const keptMs = 24 * 60 * 60 * 1000

/**
 * Returns true if a host has left by itself, as fronts do. A host that was forgotten has not.
 */
export function hasLeft({ state, wanted }: Pick<HostRow, 'state' | 'wanted'>): boolean {
  return state === 'gone' && wanted !== 'gone'
}

/**
 * Removes the row of a front that left the fleet a day ago, and ends its key if nobody has used it.
 * A front in a pod has a new id at each start.
 */
export async function removeLeft(
  { store, now }: { readonly store: Store; readonly now: () => number },
  row: Pick<HostRow, 'host_id' | 'epoch' | 'state' | 'wanted' | 'seen_at'>,
): Promise<void> {
  if (!hasLeft(row) || now() - row.seen_at < keptMs) return
  await store.change(aloneWithService, async (changes) => {
    const removed = await changes
      .deleteFrom('hosts')
      .where('host_id', '=', row.host_id)
      .where('epoch', '=', row.epoch)
      .where('state', '=', 'gone')
      .returning('host_id')
      .executeTakeFirst()
    if (removed !== undefined) await endUnusedKey(changes, { hostId: row.host_id, at: now() })
  })
}
