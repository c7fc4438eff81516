import { judgedStates } from '../../foundation/host/host-row.ts'
import type { ThisHost } from '../../foundation/host/this-host.ts'
import type { Store } from '../../foundation/store/open-store.ts'

/**
 * Says that this host serves no requests until its daemon starts again: it is `joining` again. It
 * keeps its runtimes, and a silence that is too long is still a verdict.
 */
export async function sayStopped({ db }: Pick<Store, 'db'>, { hostId, epoch }: ThisHost): Promise<void> {
  await db
    .updateTable('hosts')
    .set({ state: 'joining' })
    .where('host_id', '=', hostId)
    .where('epoch', '=', epoch)
    .where('state', 'not in', judgedStates)
    .execute()
}
