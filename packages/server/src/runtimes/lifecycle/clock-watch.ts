import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Changes, Queries } from '../../foundation/store/open-store.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'

/**
 * The smallest clock change that moves deadlines, in milliseconds. Time synchronisation makes
 * smaller ones all the time.
 */
const jumpMs = 2_000

/**
 * The longest reading of both clocks, in milliseconds. A longer one was interrupted and is not
 * used.
 */
const readingMs = 50

/** The columns of a runtime's row that show when its deadline was written. */
type Deadline = Pick<RuntimeRow, 'runtime_id' | 'expires_at' | 'updated_at'>

/** A reading of both clocks, and the offset of the wall clock from the host clock. */
interface Reading {
  readonly wall: number
  readonly uptime: number
  readonly offset: number
}

type Parts = Pick<Runtimes, 'store' | 'log' | 'now' | 'hostClock' | 'thisHost'>

/**
 * Detects changes of the wall clock, and moves the deadlines of this host's runtimes by the same
 * amount. Deadlines are wall clock times in the database, so that they survive restarts. The offset
 * to the host's monotonic clock is stored in the same transaction, so that changes while no service
 * runs are detected too. A deadline that was written after the change is not moved. After a reboot
 * of the host the wall clock is trusted.
 */
export class ClockWatch {
  readonly #service: Parts
  /** The offset of the stored deadlines; null before the first reading of the clocks. */
  #offset: number | null
  /** True if the offset is stored. */
  #isKept: boolean
  /** The last noted deadlines, and the host clock at that time. */
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
   * Opens the watch with the stored offset of an earlier process, and checks the clocks. Must be
   * called before this process writes a deadline. No deadline of the earlier process counts as new,
   * because it is unknown if one was written after a clock change.
   */
  static async open(service: Parts): Promise<ClockWatch> {
    const [offset, deadlines] = [await keptOffset(service), await deadlinesIn(service.store.db, service)]
    const watch = new ClockWatch(service, { offset, deadlines })
    await watch.look().catch((err: unknown) => {
      // The service is of use without: the sweep looks again.
      service.log.error({ err }, 'the deadlines could not be compared with the clock')
    })
    return watch
  }

  /** Checks the clocks. After a change, moves the earlier deadlines in one transaction. */
  async look(): Promise<void> {
    const reading = this.#read()
    if (reading === null) return
    const known = this.#offset ?? reading.offset
    const byMs = Math.round(reading.offset - known)
    const wasSet = Math.abs(byMs) > jumpMs
    this.#offset = known
    if (!wasSet && this.#isKept) return
    const offset = wasSet ? reading.offset : known
    await this.#service.store.change(aloneWithRow, async (changes) => {
      if (wasSet) await this.#move(changes, byMs, reading)
      await keepOffset(changes, this.#service, offset)
    })
    this.#offset = offset
    this.#isKept = true
    if (wasSet) this.#service.log.warn({ by_ms: byMs }, "the machine's clock was set; deadlines move with it")
  }

  /** Notes the existing deadlines, so that later ones are recognised. */
  note(rows: readonly Deadline[]): void {
    const reading = this.#read()
    // If the clock was set since the read, some rows may be newer than that.
    if (reading === null || this.#offset === null || Math.abs(reading.offset - this.#offset) > jumpMs) return
    this.#noted = noteOf(rows)
    this.#notedAt = reading.uptime
  }

  async #move(changes: Changes, byMs: number, reading: Reading): Promise<void> {
    for (const row of await deadlinesIn(changes, this.#service)) {
      if (this.#isNew(row, reading)) continue
      await changes
        .updateTable('runtimes')
        .set(({ eb }) => ({ expires_at: eb('expires_at', '+', byMs) }))
        .where('runtime_id', '=', row.runtime_id)
        // Another one was written meanwhile, by the new clock.
        .where('expires_at', '=', row.expires_at)
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

function deadlinesIn(db: Queries, { thisHost }: Parts): Promise<readonly Deadline[]> {
  return db
    .selectFrom('runtimes')
    .select(['runtime_id', 'expires_at', 'updated_at'])
    .where('host_id', '=', thisHost.hostId)
    .where('expires_at', 'is not', null)
    .where('ended_at', 'is', null)
    .execute()
}

/**
 * Returns the stored offset of an earlier process of this boot, in milliseconds. Null if there is
 * none.
 */
async function keptOffset({ store, hostClock, thisHost }: Parts): Promise<number | null> {
  const row = await store.db
    .selectFrom('hosts')
    .select(['boot_id', 'clock_offset'])
    .where('host_id', '=', thisHost.hostId)
    .executeTakeFirst()
  return row?.boot_id === hostClock.bootId ? row.clock_offset : null
}

async function keepOffset(changes: Changes, { hostClock, thisHost }: Parts, offset: number): Promise<void> {
  await changes
    .updateTable('hosts')
    .set({ boot_id: hostClock.bootId, clock_offset: Math.round(offset) })
    .where('host_id', '=', thisHost.hostId)
    .execute()
}
