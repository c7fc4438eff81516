import {
  clockDifference,
  clockLimitMs,
  clockText,
  clockWarnMs,
  type MeasuredClock,
} from '../../foundation/host/clock-difference.ts'
import type { HostCondition } from '../../foundation/host/host-condition.ts'
import type { Log } from '../../foundation/log.ts'

/** The time without a read of the store after which a host gets no requests, in milliseconds. */
const unreadMs = 5_000

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
  noteBeat(beat: MeasuredClock): void {
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
