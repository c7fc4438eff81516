import type { Changes, Queries } from '../../foundation/store/open-store.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'

/**
 * The wall clock is set by less than this all the time: that is its keeper's work, and moves no
 * deadline.
 */
const jumpMs = 2_000

/**
 * A reading of both clocks that took longer than this was interrupted, as by a stop of the process,
 * and tells nothing of either.
 */
const readingMs = 50

/** The columns of a runtime's row that show when its deadline was written. */
type Deadline = Pick<RuntimeRow, 'runtime_id' | 'expires_at' | 'updated_at'>

/** Both clocks at one moment, and how far the wall clock is ahead of the other. */
interface Reading {
  readonly wall: number
  readonly uptime: number
  readonly offset: number
}

type Parts = Pick<Runtimes, 'store' | 'log' | 'now' | 'hostClock'>

/**
 * Notices when the wall clock is set, and moves the deadlines of runtimes with it: a runtime lives
 * for so long, whatever the clock says meanwhile. Deadlines are moments of the wall clock in the
 * database, so that they hold over restarts; beside them stands how far that clock was ahead of the
 * host's own, which changes in the same transaction, so that a clock that is set while no service
 * runs moves them as well. One that was written after the clock was set is right as it is. Across
 * boots of the host nothing is known, and the wall clock is believed.
 */
export class ClockWatch {
  readonly #service: Parts
  /** The offset that deadlines agree with; null until the clocks could be read. */
  #offset: number | null
  /** True if the store has that difference. */
  #isKept: boolean
  /** When deadlines were noted last, by the host's clock, and those that were there. */
  #notedAt: number
  #noted: ReadonlyMap<string, number | null>

  private constructor(
    service: Parts,
    { offset, deadlines }: { offset: number | null; deadlines: readonly Deadline[] },
  ) {
    this.#service = service
    this.#offset = offset
    this.#isKept = offset !== null
    this.#notedAt = service.hostClock.uptime()
    this.#noted = noteOf(deadlines)
  }

  /**
   * Begins with what an earlier process knew, and looks. Called before this one writes a deadline.
   * Of the earlier one's deadlines none counts as new, as nothing tells that it wrote one in the
   * second between a clock that was set and its end.
   */
  static async open(service: Parts): Promise<ClockWatch> {
    const { db } = service.store
    const watch = new ClockWatch(service, { offset: await keptOffset(service), deadlines: await deadlinesIn(db) })
    await watch.look().catch((err: unknown) => {
      // The service is of use without: the sweep looks again.
      service.log.error({ err }, 'the deadlines could not be compared with the clock')
    })
    return watch
  }

  /**
   * Looks, and moves the deadlines from before in one transaction where the clock was set since the
   * last look.
   */
  async look(): Promise<void> {
    const reading = this.#read()
    if (reading === null) return
    const known = this.#offset ?? reading.offset
    const byMs = Math.round(reading.offset - known)
    const wasSet = Math.abs(byMs) > jumpMs
    this.#offset = known
    if (!wasSet && this.#isKept) return
    const offset = wasSet ? reading.offset : known
    await this.#service.store.change(async (changes) => {
      if (wasSet) await this.#move(changes, byMs, reading)
      await keepOffset(changes, this.#service.hostClock.bootId, offset)
    })
    this.#offset = offset
    this.#isKept = true
    if (wasSet) this.#service.log.warn({ by_ms: byMs }, "the machine's clock was set; deadlines move with it")
  }

  /** Notes the deadlines that are there, so that those which are written from here on are known. */
  note(rows: readonly Deadline[]): void {
    const reading = this.#read()
    // Where the clock was set since the look some of them may be from after that.
    if (reading === null || this.#offset === null || Math.abs(reading.offset - this.#offset) > jumpMs) return
    this.#noted = noteOf(rows)
    this.#notedAt = reading.uptime
  }

  async #move(changes: Changes, byMs: number, reading: Reading): Promise<void> {
    for (const row of await deadlinesIn(changes)) {
      if (this.#isNew(row, reading)) continue
      await changes
        .updateTable('runtimes')
        .set(({ eb }) => ({ expires_at: eb('expires_at', '+', byMs) }))
        .where('runtime_id', '=', row.runtime_id)
        .execute()
    }
  }

  /**
   * Returns true if a deadline was written after the clock was set. It did not exist before, and
   * its row has changed since then by the new clock.
   */
  #isNew({ runtime_id, expires_at, updated_at }: Deadline, { wall, uptime }: Reading): boolean {
    if (this.#noted.get(runtime_id) === expires_at) return false
    const sinceMs = uptime - this.#notedAt + readingMs
    return updated_at >= wall - sinceMs && updated_at <= this.#service.now()
  }

  /** Reads both clocks. Returns null if they could not be read at the same moment. */
  #read(): Reading | null {
    const { now, hostClock } = this.#service
    const before = hostClock.uptime()
    const wall = now()
    const after = hostClock.uptime()
    return after - before > readingMs ? null : { wall, uptime: after, offset: wall - after }
  }
}

function noteOf(rows: readonly Deadline[]): ReadonlyMap<string, number | null> {
  return new Map(rows.map(({ runtime_id, expires_at }) => [runtime_id, expires_at]))
}

function deadlinesIn(db: Queries): Promise<readonly Deadline[]> {
  return db
    .selectFrom('runtimes')
    .select(['runtime_id', 'expires_at', 'updated_at'])
    .where('expires_at', 'is not', null)
    .where('ended_at', 'is', null)
    .execute()
}

/**
 * The offset that deadlines agree with, in milliseconds, as an earlier process of this boot has
 * kept it; null where none has.
 */
async function keptOffset({ store, hostClock }: Parts): Promise<number | null> {
  const row = await store.db.selectFrom('store_facts').select('value').where('name', '=', 'clock').executeTakeFirst()
  const [boot, text] = row?.value.split(' ') ?? []
  const offset = Number(text)
  return boot === hostClock.bootId && Number.isFinite(offset) ? offset : null
}

async function keepOffset(changes: Changes, bootId: string, offset: number): Promise<void> {
  const value = `${bootId} ${Math.round(offset)}`
  await changes
    .insertInto('store_facts')
    .values({ name: 'clock', value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}
