import type { HostDirectory } from '../../foundation/host/host-directory.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { Owned } from '../../foundation/wire/forwarder.ts'
import type { OwnerRow, OwnerRows } from './owner-cache.ts'

/**
 * The owners as the rows of runtimes and builds name them. A host that is suspect or lost counts as
 * none: each host knows from the row what it can say about such a runtime.
 */
export class RowOwners implements OwnerRows {
  readonly #store: Pick<Store, 'db'>
  readonly #hosts: HostDirectory

  constructor(store: Pick<Store, 'db'>, hosts: HostDirectory) {
    this.#store = store
    this.#hosts = hosts
  }

  async find(owned: Owned): Promise<OwnerRow | null> {
    const row = owned.type === 'host' ? this.#findHost(owned) : await this.#findRow(owned)
    return row === null || this.#hosts.silentMs(row.hostId) !== null ? null : row
  }

  /** Returns a host that answers for itself. */
  #findHost({ id }: Owned): OwnerRow | null {
    const row = this.#hosts.rows.find(({ host_id }) => host_id === id)
    return row === undefined ? null : { hostId: id, epoch: row.epoch }
  }

  async #findRow({ type, projectId, id }: Owned): Promise<OwnerRow | null> {
    const { db } = this.#store
    const row =
      type === 'build'
        ? await db
            .selectFrom('builds')
            .select(['host_id', 'host_epoch'])
            .where('project_id', '=', projectId)
            .where('build_id', '=', id)
            .executeTakeFirst()
        : await db
            .selectFrom('runtimes')
            .select(['host_id', 'host_epoch'])
            .where('project_id', '=', projectId)
            .where('runtime_id', '=', id)
            .executeTakeFirst()
    if (row === undefined || row.host_id === null || row.host_epoch === null) return null
    return { hostId: row.host_id, epoch: row.host_epoch }
  }
}
