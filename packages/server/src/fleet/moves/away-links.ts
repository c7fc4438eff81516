import type { Runtimes } from '../../runtimes/runtimes.ts'

/** The links that one look compares with the rows. */
const linksPerLook = 256

/**
 * Ends the links to runtimes that have left this host and run on another. Their followers wait here
 * as for any pause. They break when the runtime runs elsewhere, so that clients ask again and
 * continue at their cursor there.
 */
export class AwayLinks {
  readonly #service: Runtimes
  #at = 0

  constructor(service: Runtimes) {
    this.#service = service
  }

  /** Looks at some of the links that wait for a resume. */
  async look(): Promise<void> {
    const { links, store, thisHost } = this.#service
    const waiting = links.known.filter((id) => !links.link(id).isOpen)
    if (this.#at >= waiting.length) this.#at = 0
    const some = waiting.slice(this.#at, this.#at + linksPerLook)
    this.#at += some.length
    if (some.length === 0) return
    const elsewhere = await store.db
      .selectFrom('runtimes')
      .select('runtime_id')
      .where('runtime_id', 'in', some)
      .where('host_id', '!=', thisHost.hostId)
      .where('state', '!=', 'resuming')
      .execute()
    for (const { runtime_id } of elsewhere) links.forget(runtime_id)
  }
}
