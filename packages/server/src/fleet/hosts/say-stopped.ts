import type { FleetConfig } from '../../foundation/config/fleet-settings.ts'
import { judgedStates } from '../../foundation/host/host-row.ts'
import type { ThisHost } from '../../foundation/host/this-host.ts'
import type { Store } from '../../foundation/store/open-store.ts'

/**
 * Says that this host serves no requests until its daemon starts again. It is `joining` again: it
 * keeps its runtimes, and a silence that is too long is still a verdict. A front has no runtimes,
 * so it leaves the fleet, and nobody waits for its beats.
 */
export async function sayStopped(
  { db }: Pick<Store, 'db'>,
  { hostId, epoch }: ThisHost,
  role: FleetConfig['role'],
): Promise<void> {
  await db
    .updateTable('hosts')
    .set({ state: role === 'front' ? 'gone' : 'joining' })
    .where('host_id', '=', hostId)
    .where('epoch', '=', epoch)
    .where('state', 'not in', judgedStates)
    .execute()
}
