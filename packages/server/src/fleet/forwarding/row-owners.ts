import type { HostDirectory } from '../../foundation/host/host-directory.ts'
import { isUnowned } from '../../foundation/host/require-own.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Owned } from '../../foundation/wire/forwarder.ts'
import { Refusals } from '../../foundation/wire/placed-refusals.ts'
import { resumeHost } from '../placement/resume-host.ts'
import type { OwnerRow, OwnerRows } from './owner-cache.ts'

/** The columns of a runtime by which its owner is found. */
const ownerColumns = [
  'runtime_id',
  'host_id',
  'host_epoch',
  'state',
  'auto_resume',
  'near_host_id',
  'pause_checkpoint_id',
] as const

type RuntimeOwner = Pick<RuntimeRow, (typeof ownerColumns)[number]>

/**
 * The owners as the rows of runtimes and builds name them. A host that is suspect or lost counts as
 * none: each host knows from the row what it can say about such a runtime.
 */
export class RowOwners implements OwnerRows {
  readonly #store: Pick<Store, 'db'>
  readonly #hosts: HostDirectory
  readonly #ownHostId: string

  constructor(store: Pick<Store, 'db'>, hosts: HostDirectory, ownHostId: string) {
    this.#store = store
    this.#hosts = hosts
    this.#ownHostId = ownHostId
  }

  async find(owned: Owned): Promise<OwnerRow | null> {
    if (owned.type !== 'runtime') return this.#heardOf(await this.#findOther(owned))
    const row = await this.#findRuntime(owned)
    return row === undefined ? null : this.#heardOf(ownerOf(row))
  }

  async choose(owned: Owned, refusals = new Refusals()): Promise<OwnerRow | null> {
    if (owned.type !== 'runtime' || owned.wakes === undefined) return this.find(owned)
    const row = await this.#findRuntime(owned)
    if (row === undefined) return null
    if (!isUnowned(row)) return this.#heardOf(ownerOf(row))
    if (owned.wakes === 'request' && row.auto_resume === 0) return null
    const stored = { runtimeId: row.runtime_id, nearHostId: row.near_host_id, classId: await this.#classOf(row) }
    const hostId = resumeHost(this.#hosts, stored, { ownHostId: this.#ownHostId, refusals })
    return { hostId, epoch: this.#epochOf(hostId), isChosen: true }
  }

  /** Returns the class of hosts that can restore the checkpoint of a runtime. */
  async #classOf({ pause_checkpoint_id }: RuntimeOwner): Promise<string | null> {
    if (pause_checkpoint_id === null) return null
    const row = await this.#store.db
      .selectFrom('artifacts')
      .select('class_id')
      .where('artifact_id', '=', pause_checkpoint_id)
      .executeTakeFirst()
    return row?.class_id ?? null
  }

  #epochOf(hostId: string): number {
    return this.#hosts.rows.find(({ host_id }) => host_id === hostId)?.epoch ?? 0
  }

  #heardOf(row: OwnerRow | null): OwnerRow | null {
    return row === null || this.#hosts.silentMs(row.hostId) !== null ? null : row
  }

  async #findRuntime({ projectId, id }: Owned): Promise<RuntimeOwner | undefined> {
    return this.#store.db
      .selectFrom('known_runtimes')
      .select(ownerColumns)
      .where('project_id', '=', projectId)
      .where('runtime_id', '=', id)
      .executeTakeFirst()
  }

  /** Returns the owner of a build, or a host that answers for itself. */
  async #findOther({ type, projectId, id }: Owned): Promise<OwnerRow | null> {
    if (type === 'host')
      return this.#hosts.rows.some(({ host_id }) => host_id === id) ? { hostId: id, epoch: this.#epochOf(id) } : null
    const row = await this.#store.db
      .selectFrom('builds')
      .select(['host_id', 'host_epoch'])
      .where('project_id', '=', projectId)
      .where('build_id', '=', id)
      .executeTakeFirst()
    return row === undefined ? null : ownerOf(row)
  }
}

function ownerOf({ host_id, host_epoch }: Pick<RuntimeRow, 'host_id' | 'host_epoch'>): OwnerRow | null {
  return host_id === null || host_epoch === null ? null : { hostId: host_id, epoch: host_epoch }
}
