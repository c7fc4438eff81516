import type { Snapshot, SnapshotKind, SnapshotState } from '@holt/protocol'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/** The filters of a list of snapshots. Several filters mean AND. */
export interface SnapshotFilter {
  readonly name?: string
  readonly kind?: SnapshotKind
  readonly state?: SnapshotState
  /** The id of the runtime of which the snapshot was taken. */
  readonly runtime_id?: string
  /** Items per page, 1 to 100. */
  readonly limit?: number
}

/**
 * The snapshots of runtimes. `runtime.snapshot()` takes one, and `holt.runtimes.create({ snapshot
 * })` makes a runtime from one.
 */
export class Snapshots {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Lists snapshots, newest first. */
  list(filter: SnapshotFilter = {}, options: CallOptions = {}): Paginated<Snapshot> {
    return paginate((cursor) => this.#transport.call('listSnapshots', { ...options, query: { ...filter, cursor } }))
  }

  /** Gets a snapshot by id or name. */
  async get(snapshot: string, options: CallOptions = {}): Promise<Snapshot> {
    return this.#transport.call('getSnapshot', { ...options, params: { snapshot_id: snapshot } })
  }

  /** Deletes a snapshot by id or name. Runtimes made from it continue. */
  async delete(snapshot: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('deleteSnapshot', { ...options, params: { snapshot_id: snapshot } })
  }
}
