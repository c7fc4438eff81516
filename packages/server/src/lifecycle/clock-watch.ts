import type { Service } from '../service.ts'
import type { RuntimeRow } from '../store/tables.ts'

/** The wall clock is set by less than this all the time: that is its keeper's work, and moves no deadline. */
const jumpMs = 2_000

/** A reading of both clocks that took longer than this was interrupted, as by a stop of the process, and tells nothing of either. */
const readingMs = 50

/** What of a runtime's row tells when its deadline was written. */
type Deadline = Pick<RuntimeRow, 'runtime_id' | 'expires_at' | 'updated_at'>

/** Both clocks at one moment, and how far the wall clock is ahead of the other. */
interface Reading {
  readonly wall: number
  readonly monotonic: number
  readonly offset: number
}

/**
 * Notices when the wall clock is set, and moves the deadlines of runtimes with it: a runtime lives for so long, whatever the clock says meanwhile. Deadlines are moments of the
 * wall clock in the database, so that they hold over restarts. One that was written after the clock was set is right as it is.
 */
export class ClockWatch {
  readonly #service: Service
  /** The offset that deadlines agree with; null until the clocks could be read. */
  #offset: number | null
  /** When deadlines were noted last, by the monotonic clock, and those that were there. */
  #notedAt: number
  #noted: ReadonlyMap<string, number | null> = new Map()

  constructor(service: Service) {
    this.#service = service
    this.#offset = this.#read()?.offset ?? null
    this.#notedAt = service.monotonic()
  }

  /** Looks, and moves the deadlines from before in one transaction where the clock was set since the last look. */
  async look(): Promise<void> {
    const reading = this.#read()
    if (reading === null) return
    this.#offset ??= reading.offset
    const byMs = Math.round(reading.offset - this.#offset)
    if (Math.abs(byMs) <= jumpMs) return
    await this.#service.store.change(async (changes) => {
      const rows = await changes
        .selectFrom('runtimes')
        .select(['runtime_id', 'expires_at', 'updated_at'])
        .where('expires_at', 'is not', null)
        .where('ended_at', 'is', null)
        .execute()
      for (const row of rows.filter((one) => !this.#isNew(one, reading)))
        await changes
          .updateTable('runtimes')
          .set(({ eb }) => ({ expires_at: eb('expires_at', '+', byMs) }))
          .where('runtime_id', '=', row.runtime_id)
          .execute()
    })
    this.#offset = reading.offset
    this.#service.log.warn({ by_ms: byMs }, "the machine's clock was set; deadlines move with it")
  }

  /** Notes the deadlines that are there, so that those which are written from here on are known. */
  note(rows: readonly Deadline[]): void {
    const reading = this.#read()
    // Where the clock was set since the look some of them may be from after that.
    if (reading === null || this.#offset === null || Math.abs(reading.offset - this.#offset) > jumpMs) return
    this.#noted = new Map(rows.map(({ runtime_id, expires_at }) => [runtime_id, expires_at]))
    this.#notedAt = reading.monotonic
  }

  /** Whether a deadline was written after the clock was set: it was not there before, and its row was changed in the time since then by the clock as it is now. */
  #isNew({ runtime_id, expires_at, updated_at }: Deadline, { wall, monotonic }: Reading): boolean {
    if (this.#noted.get(runtime_id) === expires_at) return false
    const sinceMs = monotonic - this.#notedAt + readingMs
    return updated_at >= wall - sinceMs && updated_at <= this.#service.now()
  }

  /** Null where the clocks could not be read at one moment. */
  #read(): Reading | null {
    const { now, monotonic } = this.#service
    const before = monotonic()
    const wall = now()
    const after = monotonic()
    return after - before > readingMs ? null : { wall, monotonic: after, offset: wall - after }
  }
}
