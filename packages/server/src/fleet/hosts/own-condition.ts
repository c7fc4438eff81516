import { clockLimitMs, clockText, clockWarnMs, type HostCondition } from '../../foundation/host/host-condition.ts'
import type { Log } from '../../foundation/log.ts'

/** The time without a read of the store after which a host gets no requests, in milliseconds. */
const unreadMs = 5_000

/**
 * The longest round trip of a beat that says something about the clocks, in milliseconds. The
 * measured difference is wrong by half of a round trip at most.
 */
const longestTripMs = 2_000

/** A beat, and the clock of the database when it was carried out. */
export interface MeasuredBeat {
  /** When it was sent and answered, by a clock that is never set, in milliseconds. */
  readonly sentAt: number
  readonly answeredAt: number
  /** The wall clock of this host at the answer, in milliseconds since 1970 UTC. */
  readonly now: number
  /** The wall clock of the database, in milliseconds since 1970 UTC. */
  readonly databaseNow: number
}

/**
 * Returns the lead of this host's wall clock over that of the database, in milliseconds. The
 * database is taken to have read its clock in the middle of the round trip. Null: the trip took too
 * long to say anything.
 */
export function clockDifference({ sentAt, answeredAt, now, databaseNow }: MeasuredBeat): number | null {
  const tripMs = answeredAt - sentAt
  return tripMs < 0 || tripMs > longestTripMs ? null : Math.round(now - tripMs / 2 - databaseNow)
}

interface OwnConditionOptions {
  readonly log: Log
  /** Aborted when the service closes. */
  readonly closing: AbortSignal
  /** Returns milliseconds of a clock that is never set. Default: the machine's. */
  readonly clock?: () => number
}

/** The condition of this host in its fleet. */
export class OwnCondition implements HostCondition {
  readonly #options: OwnConditionOptions
  readonly #clock: () => number
  #isJoining = true
  #clockDifferenceMs: number | null = null
  #isClockOff = false
  #readAt: number

  constructor(options: OwnConditionOptions) {
    this.#options = options
    this.#clock = options.clock ?? (() => performance.now())
    this.#readAt = this.#clock()
  }

  get clockDifferenceMs(): number | null {
    return this.#clockDifferenceMs
  }

  get reasons(): readonly string[] {
    const unreadFor = this.#clock() - this.#readAt
    return [
      ...(this.#options.closing.aborted ? ['This host stops.'] : []),
      ...(this.#isJoining ? ['This host is joining the fleet.'] : []),
      ...(!this.#isJoining && unreadFor > unreadMs
        ? [`This host has not read the store for ${Math.round(unreadFor / 1000)} s.`]
        : []),
      ...(Math.abs(this.#clockDifferenceMs ?? 0) >= clockLimitMs ? [clockText(this.#clockDifferenceMs ?? 0)] : []),
    ]
  }

  /** Notes that the host has joined the fleet. */
  noteJoined(): void {
    if (!this.#isJoining) return
    this.#isJoining = false
    this.noteRead()
  }

  /** Notes that the changes of other hosts were read. */
  noteRead(): void {
    this.#readAt = this.#clock()
  }

  /** Compares the clocks by a beat. */
  noteBeat(beat: MeasuredBeat): void {
    const difference = clockDifference(beat)
    if (difference === null) return
    this.#clockDifferenceMs = difference
    const isOff = Math.abs(difference) >= clockWarnMs
    if (isOff && !this.#isClockOff)
      this.#options.log.warn(
        { difference_ms: difference },
        `${clockText(difference)} Set it by a time server, such as chrony`,
      )
    this.#isClockOff = isOff
  }
}
