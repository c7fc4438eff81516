import { Demand } from './demand.ts'
import type { PoolMember } from './pool-member.ts'
import { type PoolShape, sameShape } from './pool-shape.ts'

/**
 * The maximum age of a member, in milliseconds. An older one is replaced, because its image or
 * checkpoint becomes outdated.
 */
const ageMaxMs = 3600_000

/**
 * The delay after a first failure to create a member, in milliseconds. It doubles up to the
 * maximum.
 */
const firstRetryMs = 1000
const longestRetryMs = 60_000

/** The state of a pool, for people. */
export interface PoolState {
  readonly templateId: string
  readonly template: string
  readonly isolation: PoolShape['isolation']
  readonly ready: number
  readonly making: number
  /** The number of members to keep ready. */
  readonly size: number
  /** When the oldest member was created; null if there is none. */
  readonly oldestAt: number | null
}

/** The waiting runtimes of one template and class of isolation. */
export class Pool {
  readonly templateName: string
  readonly demand = new Demand()
  /** The minimum number of members. */
  floor = 0
  /** The target number of members, as last decided. */
  size = 0
  /** The estimated host memory of a member, in MiB. Undefined before the first estimate. */
  costMiB: number | undefined
  #shape: PoolShape
  /** The waiting members, oldest first. */
  #ready: PoolMember[] = []
  #making = 0
  #failures = 0
  /**
   * The time of the next attempt on the monotonic clock, so that a clock change cannot delay it.
   */
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
    const { templateId, isolation } = this.#shape
    const oldestAt = this.#ready[0]?.madeAt ?? null
    return {
      templateId,
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

  /** Takes a member by id. Returns false if it is not in the pool. */
  takeOne(runtimeId: string): boolean {
    const index = this.#ready.findIndex((member) => member.runtimeId === runtimeId)
    if (index >= 0) this.#ready.splice(index, 1)
    return index >= 0
  }

  /** Adds a member. Returns false if its shape is outdated. */
  add(member: PoolMember): boolean {
    if (!sameShape(member.shape, this.#shape)) return false
    this.#ready.push(member)
    this.#ready.sort((one, other) => one.madeAt - other.madeAt || (one.runtimeId < other.runtimeId ? -1 : 1))
    return true
  }

  /** Takes the oldest members, at most `count`. */
  takeSome(count: number): readonly PoolMember[] {
    return this.#ready.splice(0, count)
  }

  /** Takes all members. */
  takeAll(): readonly PoolMember[] {
    return this.#ready.splice(0)
  }

  /** Sets a new shape. Removes and returns the members of another shape. */
  reshape(shape: PoolShape): readonly PoolMember[] {
    if (sameShape(shape, this.#shape)) return []
    this.#shape = shape
    this.costMiB = undefined
    this.#failures = 0
    this.#retryAt = 0
    return this.takeAll()
  }

  /**
   * Returns the number of members to create now. A member above the maximum age counts as missing,
   * so that its replacement exists before its removal.
   */
  lacking(at: number): number {
    if (this.#monotonic() < this.#retryAt) return 0
    const old = this.size > 0 && this.#hasOld(at) ? 1 : 0
    return Math.max(0, this.size + old - this.#ready.length - this.#making)
  }

  /** Returns the number of members above the target. */
  surplus(): number {
    return Math.max(0, this.#ready.length - this.size)
  }

  /** Counts a member during its creation, and notes the result. */
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
