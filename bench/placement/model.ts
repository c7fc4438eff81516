import { type Facts, forecast, type Offer } from '@holt/placement'

/** The sizes of the model. Times are in milliseconds. */
export interface Sizes {
  readonly hosts: number
  /** The runtimes that a host has room for. */
  readonly places: number
  /** The waiting runtimes of the default template on each host. */
  readonly poolOfDefault: number
  /** The waiting runtimes of another template that a host has fetched. */
  readonly poolOfOthers: number
  readonly restoresAtOnce: number
  readonly restoreMs: number
  readonly fetchMs: number
  /** The images that a host keeps. */
  readonly cachedImages: number
}

/** The outcome of one create on a host. */
export interface Made {
  readonly doneAt: number
  readonly fromPool: boolean
}

/** The default template, which every host has. */
export const defaultTemplate = 0

/** A host of the model: places, pools, a queue of restores, and a cache of images. */
export class ModelHost {
  readonly hostId: string
  fetches = 0
  used = 0
  lost = false
  /** The creates that an offer announced in the last 200 ms, and those under way. */
  #announced: number[] = []
  #underWay: number[] = []
  readonly #sizes: Sizes
  /** Slow hosts take a multiple of each time. */
  readonly #factor: number
  /** When each of the parallel restores is free again. */
  readonly #restoresFree: number[]
  /** The members of each pool: the moments from which they wait. */
  readonly #pools = new Map<number, number[]>()
  /** The cached images, the oldest first, with the moment from which they are here. */
  readonly #images = new Map<number, number>()

  constructor(index: number, sizes: Sizes, factor: number) {
    this.hostId = `ho${index}`
    this.#sizes = sizes
    this.#factor = factor
    this.#restoresFree = Array.from({ length: sizes.restoresAtOnce }, () => 0)
    this.#images.set(defaultTemplate, 0)
    this.#pools.set(
      defaultTemplate,
      Array.from({ length: sizes.poolOfDefault }, () => 0),
    )
  }

  /** The facts of this host about a create at a moment, as its own memory has them. */
  facts(template: number, at: number): Facts & { readonly hostId: string } {
    this.#underWay = this.#underWay.filter((doneAt) => doneAt > at)
    this.#announced = this.#announced.filter((until) => until > at)
    const here = this.#images.get(template)
    return {
      hostId: this.hostId,
      can: this.used < this.#sizes.places,
      membersWaiting: Math.max(0, this.#waiting(template, at) - this.#announced.length),
      createsUnderWay: this.#underWay.length + this.#announced.length,
      restoresAhead: this.#restoresAhead(at) + this.#announced.length,
      restoresAtOnce: this.#sizes.restoresAtOnce,
      bytesToFetch: here === undefined ? this.#sizes.fetchMs : Math.max(0, here - at),
      fetchBytesPerMs: 1,
      promisedShare: this.used / this.#sizes.places,
      sameSpread: 0,
    }
  }

  /** The answer to a probe. The host expects the create for 200 ms. */
  offer(template: number, at: number): Offer {
    const facts = this.facts(template, at)
    this.#announced.push(at + 200)
    return { hostId: this.hostId, forecast: forecast(facts), createsUnderWay: facts.createsUnderWay }
  }

  /** Makes a runtime. Returns null if there is no room: the host decides by its own memory. */
  create(template: number, at: number): Made | null {
    if (this.used >= this.#sizes.places) return null
    this.used += 1
    this.#announced.shift()
    const pool = this.#pools.get(template) ?? []
    const member = pool.findIndex((since) => since <= at)
    const made = member === -1 ? this.#restore(template, at) : this.#claim(template, member, at)
    this.#underWay.push(made.doneAt)
    return made
  }

  #claim(template: number, member: number, at: number): Made {
    const pool = this.#pools.get(template) ?? []
    pool.splice(member, 1)
    pool.push(this.#nextRestore(at))
    return { doneAt: at + (8 + this.#underWay.length * 0.5) * this.#factor, fromPool: true }
  }

  #restore(template: number, at: number): Made {
    const from = Math.max(at, this.#fetch(template, at))
    const doneAt = this.#nextRestore(from)
    this.#keepPool(template, doneAt)
    return { doneAt, fromPool: false }
  }

  /** A template that is here gets a pool, which fills behind the create. */
  #keepPool(template: number, from: number): void {
    const pool = this.#pools.get(template) ?? []
    if (template === defaultTemplate) return
    while (pool.length < this.#sizes.poolOfOthers) pool.push(this.#nextRestore(from))
    this.#pools.set(template, pool)
  }

  /** Returns the moment from which the image is here. Creates of the same image share a fetch. */
  #fetch(template: number, at: number): number {
    const known = this.#images.get(template)
    this.#images.delete(template)
    if (known === undefined) this.fetches += 1
    const here = known ?? at + this.#sizes.fetchMs * this.#factor
    this.#images.set(template, here)
    this.#evict()
    return here
  }

  #evict(): void {
    if (this.#images.size <= this.#sizes.cachedImages) return
    const oldest = [...this.#images.keys()].find((template) => template !== defaultTemplate)
    if (oldest === undefined) return
    this.#images.delete(oldest)
    this.#pools.delete(oldest)
  }

  /** Takes the first free restore, and returns when it is done. */
  #nextRestore(at: number): number {
    const free = this.#restoresFree
    const slot = free.indexOf(Math.min(...free))
    const doneAt = Math.max(at, free[slot] ?? 0) + this.#sizes.restoreMs * this.#factor
    free[slot] = doneAt
    return doneAt
  }

  #restoresAhead(at: number): number {
    const { restoreMs } = this.#sizes
    return this.#restoresFree.reduce((sum, free) => sum + Math.max(0, Math.ceil((free - at) / restoreMs)), 0)
  }

  #waiting(template: number, at: number): number {
    return (this.#pools.get(template) ?? []).filter((since) => since <= at).length
  }
}
