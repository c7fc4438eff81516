import type { BuildHost, CachedState } from '../contract/build-contract.ts'
import { fromCached, type RestState, StateGone, toCached } from './state.ts'

/**
 * The cache as one build uses it. It always finds the states of this build, and never those that
 * turned out to be gone.
 */
export class StateCache {
  readonly #host: BuildHost
  readonly #noCache: boolean
  readonly #own = new Map<string, CachedState>()
  readonly #gone = new Set<string>()

  constructor(host: BuildHost, noCache: boolean) {
    this.#host = host
    this.#noCache = noCache
  }

  /** Returns a state from which a runtime can continue now, or null. */
  async find(key: string): Promise<RestState | null> {
    const cached = await this.findCached(key)
    return cached === null ? null : fromCached(cached)
  }

  /** Returns an entry whose image and checkpoint exist and fit this host, or null. */
  async findCached(key: string): Promise<CachedState | null> {
    if (this.#gone.has(key)) return null
    const cached = this.#own.get(key) ?? (this.#noCache ? null : await this.#host.cache.get(key))
    return cached !== null && (await this.#isUsable(cached)) ? cached : null
  }

  async put(key: string, state: RestState): Promise<void> {
    await this.putCached(key, toCached(state))
  }

  async putCached(key: string, cached: CachedState): Promise<void> {
    this.#own.set(key, cached)
    await this.#host.cache.put(key, cached)
  }

  /**
   * Runs work that continues from a state, and repeats it without the states that turn out to be
   * gone.
   */
  async retry<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof StateGone) || this.#gone.has(error.key)) throw error
        this.#gone.add(error.key)
      }
    }
  }

  async #isUsable(cached: CachedState): Promise<boolean> {
    const { engine } = this.#host
    if ((await engine.ability('images')?.has(cached.imageDigest)) !== true) return false
    if (cached.type === 'image') return true
    return (await engine.ability('checkpoints')?.usable(cached.checkpointId))?.usable === true
  }
}
