import { Demand } from './demand.ts'
import type { PoolMember } from './pool-member.ts'
import { type PoolShape, sameShape } from './pool-shape.ts'

/**
 * A member that has waited this long is replaced: what it was booted or restored with grows old.
 */
const ageMaxMs = 3600_000

/** The pause after a first failure to make a member; it doubles up to the longest. */
const firstRetryMs = 1000
const longestRetryMs = 60_000

/** How a pool is, for people. */
export interface PoolState {
  readonly template: string
  readonly isolation: PoolShape['isolation']
  readonly ready: number
  readonly making: number
  /** How many should be ready. */
  readonly size: number
  /** When the oldest was made; null where there is none. */
  readonly oldestAt: number | null
}

/** The waiting runtimes of one template and class of isolation. */
export class Pool {
  readonly templateName: string
  readonly demand = new Demand()
  /** How many there are whatever the demand is. */
  floor = 0
  /** How many there should be, as was decided last. */
  size = 0
  /** The estimated host memory of a member, in MiB. Undefined before the first estimate. */
  costMiB: number | undefined
  #shape: PoolShape
  /** Oldest first. */
  #ready: PoolMember[] = []
  #making = 0
  #failures = 0
  /** By the monotonic clock, as a clock that is set must not make a pause longer. */
  #retryAt = 0
  readonly #monotonic: () => number

  constructor(templateName: string, shape: PoolShape, monotonic: () => number) {
    this.templateName = templateName
    this.#shape = shape
    this.#monotonic = monotonic
  }

  get shape(): PoolShape {
    return this.#shape
  }

  get state(): PoolState {
    const { isolation } = this.#shape
    const oldestAt = this.#ready[0]?.madeAt ?? null
    return {
      template: this.templateName,
      isolation,
      ready: this.#ready.length,
      making: this.#making,
      size: this.size,
      oldestAt,
    }
  }

  get isEmpty(): boolean {
    return this.#ready.length === 0 && this.#making === 0
  }

  /** Takes the member that has waited longest. */
  take(): PoolMember | null {
    return this.#ready.shift() ?? null
  }

  /** Takes a certain member; false where it is not here. */
  takeOne(runtimeId: string): boolean {
    const index = this.#ready.findIndex((member) => member.runtimeId === runtimeId)
    if (index >= 0) this.#ready.splice(index, 1)
    return index >= 0
  }

  /** Adds a member, unless what it is made of is out of date. */
  add(member: PoolMember): boolean {
    if (!sameShape(member.shape, this.#shape)) return false
    this.#ready.push(member)
    this.#ready.sort((one, other) => one.madeAt - other.madeAt || (one.runtimeId < other.runtimeId ? -1 : 1))
    return true
  }

  /** Takes the oldest members, so many at the most. */
  takeSome(count: number): readonly PoolMember[] {
    return this.#ready.splice(0, count)
  }

  /** Takes all members. */
  takeAll(): readonly PoolMember[] {
    return this.#ready.splice(0)
  }

  /**
   * From now on members are made of this. Answers those that are made of something else, which are
   * not here any more.
   */
  reshape(shape: PoolShape): readonly PoolMember[] {
    if (sameShape(shape, this.#shape)) return []
    this.#shape = shape
    this.costMiB = undefined
    this.#failures = 0
    this.#retryAt = 0
    return this.takeAll()
  }

  /**
   * How many more should be made now. One that is too old counts as one too few, so that the new
   * one is there before the old one goes.
   */
  lacking(at: number): number {
    if (this.#monotonic() < this.#retryAt) return 0
    const old = this.size > 0 && this.#hasOld(at) ? 1 : 0
    return Math.max(0, this.size + old - this.#ready.length - this.#making)
  }

  /** How many there are beyond what there should be. */
  surplus(): number {
    return Math.max(0, this.#ready.length - this.size)
  }

  /** Counts a member that is being made, and what came of it. */
  async making<Result>(make: () => Promise<Result>): Promise<Result> {
    this.#making += 1
    try {
      const result = await make()
      this.#failures = 0
      return result
    } catch (error) {
      this.#retryAt = this.#monotonic() + Math.min(longestRetryMs, firstRetryMs * 2 ** this.#failures)
      this.#failures += 1
      throw error
    } finally {
      this.#making -= 1
    }
  }

  #hasOld(at: number): boolean {
    const [oldest] = this.#ready
    return oldest !== undefined && at - oldest.madeAt > ageMaxMs
  }
}
