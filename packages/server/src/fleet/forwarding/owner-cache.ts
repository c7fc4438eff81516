import { RecentMap } from '../../foundation/recent-map.ts'
import type { Owned } from '../../foundation/wire/forwarder.ts'
import { Refusals } from '../../foundation/wire/placed-refusals.ts'

/** The host that owns a thing, by the row of the thing. */
export interface OwnerRow {
  readonly hostId: string
  /** The start of the host's daemon that took the thing. */
  readonly epoch: number
  /** True if no host owns the runtime, and this one shall take it. */
  readonly isChosen?: true
}

/** The rows that name owners. */
export interface OwnerRows {
  /**
   * Returns the owner of a thing of a project. Returns null if there is no such thing in the
   * project, or if no host owns it.
   */
  find(owned: Owned): Promise<OwnerRow | null>
  /**
   * Returns the owner as `find` does, or the host that shall resume a paused runtime without an
   * owner, if the request needs that. A host that has refused is not chosen again. Throws the
   * client's error if no host can.
   */
  choose(owned: Owned, refusals?: Refusals): Promise<OwnerRow | null>
}

/** The time for which an owner is remembered, in milliseconds. */
const freshMs = 30_000

/** The maximum number of owners that are remembered. The oldest is forgotten first. */
const mostKept = 50_000

/**
 * The owners that this host has read lately. An owner may have changed meanwhile, so each host
 * checks its own rows again. This host's own things are not remembered for the same reason.
 */
export class OwnerCache {
  readonly #rows: OwnerRows
  readonly #ownHostId: string
  readonly #monotonic: () => number
  readonly #kept = new RecentMap<string, { readonly row: OwnerRow; readonly at: number }>(mostKept)

  /** `monotonic` returns milliseconds. */
  constructor(rows: OwnerRows, { hostId, monotonic }: { readonly hostId: string; readonly monotonic: () => number }) {
    this.#rows = rows
    this.#ownHostId = hostId
    this.#monotonic = monotonic
  }

  /**
   * Returns the other host that owns a thing or shall take it. Returns null if this host answers
   * for it. `take` is called where this host shall take it, and the row is read again afterwards.
   * If it throws a refusal, another host is chosen.
   */
  async find(
    owned: Owned,
    take: () => Promise<void> = async () => {},
    refusals = new Refusals(),
  ): Promise<OwnerRow | null> {
    const name = nameOf(owned)
    const kept = this.#kept.get(name)
    if (kept !== undefined && this.#monotonic() - kept.at < freshMs) return kept.row
    this.#kept.delete(name)
    let row = await this.#rows.choose(owned, refusals)
    while (row?.isChosen === true && row.hostId === this.#ownHostId)
      try {
        await take()
        row = await this.#rows.find(owned)
      } catch (error) {
        refusals.note(this.#ownHostId, error)
        row = await this.#rows.choose(owned, refusals)
      }
    if (row === null || row.hostId === this.#ownHostId) return null
    if (row.isChosen === true) return row
    this.#kept.set(name, { row, at: this.#monotonic() })
    return row
  }

  /** Forgets the owner of a thing, so that the next search reads its row. */
  forget(owned: Owned): void {
    this.#kept.delete(nameOf(owned))
  }
}

function nameOf({ type, projectId, id }: Owned): string {
  return `${type} ${projectId} ${id}`
}
