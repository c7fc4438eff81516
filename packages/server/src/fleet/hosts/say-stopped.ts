import type { FleetConfig } from '../../foundation/config/fleet-settings.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import type { ThisHost } from '../../foundation/host/this-host.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import { recordHostState } from '../../tenancy/events/record-host-event.ts'

/**
 * Says that this host serves no requests until its daemon starts again. It is `joining` again: it
 * keeps its runtimes, and a silence that is too long is still a verdict. A front has no runtimes,
 * so it leaves the fleet, and nobody waits for its beats.
 */
export async function sayStopped(
  { store, now }: { readonly store: Pick<Store, 'change'>; readonly now: () => number },
  { hostId, epoch }: ThisHost,
  role: FleetConfig['role'],
): Promise<void> {
  const to = role === 'front' ? 'gone' : 'joining'
  await store.change(aloneWithRow, async (changes) => {
    const row = await changes
      .selectFrom('hosts')
      .select('state')
      .where('host_id', '=', hostId)
      .where('epoch', '=', epoch)
      .executeTakeFirst()
    if (row === undefined || isJudged(row) || row.state === to) return
    const stopped = await changes
      .updateTable('hosts')
      .set({ state: to })
      .where('host_id', '=', hostId)
      .where('epoch', '=', epoch)
      .where('state', '=', row.state)
      .returning('host_id')
      .executeTakeFirst()
    if (stopped === undefined) return
    const reason = { code: 'stopped', message: 'Its service stopped in order.' }
    await recordHostState(changes, { hostId, at: now() }, { from: row.state, to, reason })
  })
}
