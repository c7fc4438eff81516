import { availableParallelism } from 'node:os'
import { Semaphore } from '@holt/async'
import { pause } from '../../foundation/async/pause.ts'
import type { PoolLimits } from '../../foundation/config/config.ts'
import type { Runtimes } from '../runtimes.ts'
import { adoptMembers } from './adopt-members.ts'
import { currentShapes } from './current-shapes.ts'
import { type HostRoom, hasRoom, isTight, lessMemory } from './host-room.ts'
import { memberCostMiB } from './member-cost.ts'
import { Pool, type PoolState } from './pool.ts'
import { makeMember, type PoolMember, removeMember } from './pool-member.ts'
import { type PoolKey, type PoolShape, poolKey, sameShape } from './pool-shape.ts'
import { poolSizes } from './pool-sizes.ts'
import { makingAtOnce } from './refill-rate.ts'
import { RefillScheduler } from './refill-scheduler.ts'

/**
 * The interval of checks of templates, memory and demand, in milliseconds. A claim is refilled
 * without a wait for the next check.
 */
const lookMs = 1000

/** The number of looks between two attempts to remove a member. */
const looksPerRetry = 30

/** The maximum number of members that one look gives back. */
const givenBackAtOnce = 4

/**
 * The time limit for the creation of a member, in milliseconds. A boot on a slow host takes some
 * seconds, and an application may take a minute and a half.
 */
const makeTimeoutMs = 150_000

/**
 * The number of members that are woken at a time, for each processor. More at once would slow each
 * other down.
 */
const wakingPerCpu = 2

/**
 * The pools of prepared runtimes: one for each template and isolation class, at the template's
 * size. Members have no settings of a create, so any create of that size can claim one. The sizes
 * follow the demand between floor and ceiling, and the host's memory limits them.
 */
export class Pools {
  readonly #service: () => Runtimes
  readonly #limits: PoolLimits
  readonly #pools = new Map<PoolKey, Pool>()
  /** Limits the members that are woken and bound at the same time. */
  readonly waking = new Semaphore(wakingPerCpu * availableParallelism())
  readonly #refills = new RefillScheduler((busy) => this.#refill(busy))
  /** The members that are being made or removed. */
  readonly #work = new Set<Promise<void>>()
  /** The members that could not be removed. Their removal is tried again. */
  readonly #resisting = new Set<string>()
  /** The last known room of the host, without the members in creation. */
  #room: HostRoom | null = null
  /** True while the host may have no members: it gets no new runtimes. */
  isSuspended = false
  #looks = 0
  #making = 0
  #makingMax = 1

  constructor(service: () => Runtimes, { floor, ceiling }: PoolLimits) {
    this.#service = service
    this.#limits = { floor: Math.min(floor, ceiling), ceiling }
  }

  /** The state of each pool. */
  get states(): readonly PoolState[] {
    return [...this.#pools.values()].map(({ state }) => state)
  }

  /** Adopts the members of an earlier process, then maintains the pools while the service runs. */
  async keep(): Promise<void> {
    const service = this.#service()
    const { closing, log } = service
    try {
      const shapes = this.#limits.ceiling === 0 ? new Map() : await currentShapes(service)
      this.#follow(shapes)
      await adoptMembers(service, (member) => this.#pools.get(poolKey(member.shape))?.add(member) === true)
    } catch (error) {
      // The members are in the rows, so the next start looks again.
      log.error({ err: error }, 'the pooled runtimes of an earlier process could not be examined')
    }
    while (this.#limits.ceiling > 0 && !closing.aborted) {
      await this.#look().catch((error) => {
        if (!closing.aborted) log.error({ err: error }, 'the pools could not be maintained')
      })
      await pause(lookMs, closing)
    }
    this.#refills.close()
    while (this.#work.size > 0) await Promise.all(this.#work)
  }

  /**
   * Takes a member of this shape for a create. Returns null if none waits. The caller then owns it,
   * and gives it to a project or to `discard`. `again` replaces a broken member, so that one create
   * counts as one claim.
   */
  claim(shape: PoolShape, templateName: string, { again }: { readonly again: boolean }): PoolMember | null {
    if (this.#limits.ceiling === 0 || this.isSuspended) return null
    const { now, metrics } = this.#service()
    const pool = this.#poolOf(shape, templateName)
    const member = sameShape(pool.shape, shape) ? pool.take() : null
    if (!again) {
      pool.demand.note(now())
      metrics.pools.noteClaim({ template: templateName, isolation: shape.isolation, hit: member !== null })
    }
    this.#resize()
    this.#refills.request()
    return member
  }

  /** Returns the number of waiting members of a shape, whatever checkpoint they have. */
  waiting(shape: PoolShape): number {
    const pool = this.#pools.get(poolKey(shape))
    if (pool === undefined) return 0
    const { checkpointId, startsLike } = pool.shape
    return sameShape(pool.shape, { ...shape, checkpointId, startsLike }) ? pool.state.ready : 0
  }

  /** The creates in progress. */
  get creates(): number {
    return this.#refills.creates
  }

  /** Removes a broken member. */
  discard({ runtimeId }: Pick<PoolMember, 'runtimeId'>): void {
    this.#track(async () => {
      try {
        await removeMember(this.#service(), runtimeId)
      } catch (error) {
        this.#resisting.add(runtimeId)
        this.#service().log.warn({ err: error, runtime_id: runtimeId }, 'a pooled runtime could not be removed')
      }
    })
  }

  /**
   * Delays refills for a short time, until the result is disposed of, because a create is in
   * progress.
   */
  creating(): Disposable {
    return this.#refills.creating()
  }

  /**
   * Handles a runtime that has ended or that the host has lost. If it is a member, it is removed.
   */
  lost(runtimeId: string): void {
    if (![...this.#pools.values()].some((pool) => pool.takeOne(runtimeId))) return
    this.#service().log.warn({ runtime_id: runtimeId }, 'a pooled runtime ended by itself')
    this.discard({ runtimeId })
    this.#refills.request()
  }

  #poolOf(shape: PoolShape, templateName: string): Pool {
    const key = poolKey(shape)
    const pool = this.#pools.get(key) ?? new Pool(templateName, shape, this.#service().monotonic)
    this.#pools.set(key, pool)
    return pool
  }

  /** Updates the pools from templates, demand and the free resources of the host. */
  async #look(): Promise<void> {
    const service = this.#service()
    const [facts, freeMemoryMiB, shapes] = await Promise.all([
      service.engine.describe(),
      service.freeMemoryMiB(),
      currentShapes(service),
    ])
    const room = {
      memoryMiB: facts.memoryMiB,
      freeMemoryMiB,
      diskFreeMiB: facts.diskFreeMiB,
      reserve: service.config.reserve,
    }
    this.#makingMax = makingAtOnce(facts)
    this.#follow(shapes)
    if (this.isSuspended) {
      for (const pool of this.#pools.values()) this.#giveUp(pool.takeAll())
      this.#retryRemovals()
      return
    }
    for (const pool of this.#pools.values()) pool.costMiB ??= await memberCostMiB(service, pool.shape)
    this.#resize()
    this.#giveBack(room)
    this.#room = lessMemory(room, this.#makingMiB)
    this.#retryRemovals()
    this.#refills.request()
  }

  /** Removes members of outdated templates, and the pools of deleted templates. */
  #follow(shapes: Awaited<ReturnType<typeof currentShapes>>): void {
    for (const [key, { shape, templateName, isDefault }] of shapes) {
      const pool = isDefault ? this.#poolOf(shape, templateName) : this.#pools.get(key)
      if (pool === undefined) continue
      pool.floor = isDefault ? this.#limits.floor : 0
      this.#giveUp(pool.reshape(shape))
    }
    for (const [key, pool] of this.#pools) {
      if (shapes.has(key)) continue
      this.#giveUp(pool.takeAll())
      this.#pools.delete(key)
    }
  }

  /** Decides the size of each pool. Removes an empty pool without recent demand. */
  #resize(): void {
    const at = this.#service().now()
    const pools = [...this.#pools]
    const needs = pools.map(([, { floor, demand }]) => ({ floor, demand: demand.wanted(at) }))
    const sizes = poolSizes(needs, this.#limits.ceiling)
    for (const [index, [key, pool]] of pools.entries()) {
      pool.size = sizes[index] ?? 0
      if (pool.size === 0 && pool.isEmpty) this.#pools.delete(key)
    }
  }

  /**
   * Removes members above the size of their pool. If memory or disk is short, removes members of
   * the largest pools.
   */
  #giveBack(room: HostRoom): void {
    const pools = [...this.#pools.values()]
    for (const pool of pools) this.#giveUp(pool.takeSome(Math.min(givenBackAtOnce, pool.surplus())))
    if (!isTight(room)) return
    const largest = pools.sort((one, other) => other.state.ready - one.state.ready)[0]
    this.#giveUp(largest?.takeSome(givenBackAtOnce) ?? [])
  }

  /** Tries failed removals again, at intervals. */
  #retryRemovals(): void {
    this.#looks += 1
    if (this.#looks % looksPerRetry !== 0) return
    for (const runtimeId of this.#resisting) {
      this.#resisting.delete(runtimeId)
      this.discard({ runtimeId })
    }
  }

  #giveUp(members: readonly PoolMember[]): void {
    for (const member of members) this.discard(member)
  }

  /**
   * Starts the creation of missing members: a few at a time, and one at a time during creates. The
   * pool that lacks the largest part comes first.
   */
  #refill(busy: boolean): void {
    const { closing, now } = this.#service()
    const max = busy ? 1 : this.#makingMax
    while (!closing.aborted && !this.isSuspended && this.#room !== null && this.#making < max) {
      const at = now()
      const [pool] = [...this.#pools.values()]
        .filter((each) => each.lacking(at) > 0)
        .sort((one, other) => other.lacking(at) / other.size - one.lacking(at) / one.size)
      if (pool === undefined) return
      const { costMiB = 0 } = pool
      if (!hasRoom(this.#room, costMiB)) return
      this.#room = lessMemory(this.#room, costMiB)
      this.#make(pool)
    }
  }

  /** The memory that members in progress will take, in MiB. The host may still count it as free. */
  get #makingMiB(): number {
    return [...this.#pools.values()].reduce((sum, { state, costMiB = 0 }) => sum + state.making * costMiB, 0)
  }

  #make(pool: Pool): void {
    const service = this.#service()
    const { shape } = pool
    this.#making += 1
    this.#track(async () => {
      try {
        const signal = AbortSignal.any([service.closing, AbortSignal.timeout(makeTimeoutMs)])
        const member = await pool.making(() => makeMember(service, shape, signal))
        // Meanwhile the template may be another one, or gone.
        if (this.isSuspended || this.#pools.get(poolKey(shape)) !== pool || !pool.add(member)) this.discard(member)
      } catch (error) {
        if (!service.closing.aborted)
          service.log.warn({ err: error, template: pool.templateName }, 'a runtime for the pool could not be made')
      } finally {
        this.#making -= 1
        if (!service.closing.aborted) this.#refills.request()
      }
    })
  }

  #track(work: () => Promise<void>): void {
    const tracked = work().finally(() => this.#work.delete(tracked))
    this.#work.add(tracked)
  }
}
