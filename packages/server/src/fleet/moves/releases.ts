import { Semaphore } from '@holt/async'
import { Attempts } from '../../runtimes/lifecycle/attempts.ts'
import type { Runtimes } from '../../runtimes/runtimes.ts'
import { type OwnPaused, release } from './release.ts'

/** The paused runtimes that are stored at once. */
const atOnce = 4

/** The time limit for one runtime, in milliseconds. Its memory may have many GiB. */
const storeTimeoutMs = 3_600_000

/**
 * Stores the paused runtimes of this host in the background, and lets them belong to no host. A
 * failure is tried again, after growing delays. The rows say what is left, so a restart of the
 * service forgets nothing.
 */
export class Releases {
  readonly #service: Runtimes
  readonly #attempts: Attempts
  readonly #turns = new Semaphore(atOnce)
  /** True if the fleet has no object store: paused runtimes stay on their hosts. */
  #hasNoStore = false

  constructor(service: Runtimes) {
    this.#service = service
    this.#attempts = new Attempts(service.monotonic)
  }

  /** Begins to store the paused runtimes of this host. Does not wait for that. */
  async look(): Promise<void> {
    const { artifacts, store, thisHost, closing, log } = this.#service
    if (!artifacts.isShared || this.#hasNoStore) return
    const rows = await store.db
      .selectFrom('runtimes')
      .select(['project_id', 'runtime_id', 'image_digest', 'origin_image_digest', 'pause_checkpoint_id'])
      .where('host_id', '=', thisHost.hostId)
      .where('host_epoch', '=', thisHost.epoch)
      .where('ended_at', 'is', null)
      .where('state', '=', 'paused')
      .orderBy('paused_at')
      .execute()
    for (const row of rows)
      this.#attempts.begin(
        // Each pause has another checkpoint or image.
        { id: row.runtime_id, what: row.pause_checkpoint_id ?? row.image_digest },
        () => this.#release(row),
        (err) => {
          if (!closing.aborted)
            log.warn({ err, runtime_id: row.runtime_id }, 'a paused runtime could not be stored; it is tried again')
        },
      )
    this.#attempts.keep(new Set(rows.map(({ runtime_id }) => runtime_id)))
  }

  async #release(row: OwnPaused): Promise<void> {
    const { closing, leaving } = this.#service
    await this.#turns.run(async () => {
      // A drain stores it now.
      if (leaving.of(row.runtime_id) !== null) return
      const signal = AbortSignal.any([closing, AbortSignal.timeout(storeTimeoutMs)])
      const leave = () => release(this.#service, row, { signal })
      // While the host drains, a request waits until another host can take the runtime.
      const end = await (leaving.isDraining ? leaving.during(row.runtime_id, leave) : leave())
      if (end === 'unstored') this.#hasNoStore = true
    }, closing)
  }
}
