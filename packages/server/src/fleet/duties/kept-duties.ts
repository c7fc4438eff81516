import type { Duties, DutyName } from '../../foundation/host/duties.ts'
import type { ThisHost } from '../../foundation/host/this-host.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import { type DutyRow, decideDuty, type SeenTurn } from './duty.ts'

interface KeptDutiesOptions {
  readonly store: Store
  readonly host: ThisHost
  readonly uptime: () => number
  readonly dutyMs: number
  /** The duties that this host can do. */
  readonly names: readonly DutyName[]
}

/** The duties of the fleet, as this host holds them. `turn` is called with each beat. */
export class KeptDuties implements Duties {
  readonly #options: KeptDutiesOptions
  readonly #seen = new Map<string, SeenTurn>()
  /** When the last step that kept a duty was sent, by this host's `CLOCK_BOOTTIME`. */
  readonly #heldSince = new Map<string, number>()

  constructor(options: KeptDutiesOptions) {
    this.#options = options
  }

  holds(name: DutyName): boolean {
    const { host, uptime, dutyMs } = this.#options
    const since = this.#heldSince.get(name)
    if (since === undefined || host.fenced) return false
    const heldMs = uptime() - since
    return heldMs >= 0 && heldMs < dutyMs
  }

  /**
   * Keeps the duties of this host, and takes those whose holder has ended or is silent. `epochs`
   * has the current epochs of the hosts that may hold duties.
   */
  async turn(epochs: ReadonlyMap<string, number>): Promise<void> {
    const { store, host, uptime, dutyMs, names } = this.#options
    const me = { hostId: host.hostId, epoch: host.epoch }
    const startedAt = uptime()
    const rows = await store.db.selectFrom('duties').selectAll().execute()
    const endedAt = uptime()
    for (const name of names) {
      const row = rows.find((each) => each.name === name) ?? null
      const facts = { me, row, seen: this.#seen.get(name) ?? null, startedAt, endedAt, epochs, dutyMs }
      const { step, seen } = decideDuty(facts)
      if (seen === null) this.#seen.delete(name)
      else this.#seen.set(name, seen)
      const sentAt = uptime()
      if (step !== 'leave' && (await this.#write(name, row))) this.#heldSince.set(name, sentAt)
      else this.#heldSince.delete(name)
    }
  }

  /** Makes the duty this host's, if it is still as it was read. */
  async #write(name: DutyName, row: DutyRow | null): Promise<boolean> {
    const { store, host } = this.#options
    const mine = { host_id: host.hostId, host_epoch: host.epoch }
    if (row === null) {
      const made = await store.db
        .insertInto('duties')
        .values({ name, turn: 1, ...mine })
        .onConflict((conflict) => conflict.column('name').doNothing())
        .returning('name')
        .executeTakeFirst()
      return made !== undefined
    }
    const kept = await store.db
      .updateTable('duties')
      .set({ ...mine, turn: row.turn + 1 })
      .where('name', '=', name)
      .where('host_id', '=', row.host_id)
      .where('host_epoch', '=', row.host_epoch)
      .where('turn', '=', row.turn)
      .returning('name')
      .executeTakeFirst()
    return kept !== undefined
  }
}
