import type { KeyRow } from '../../foundation/store/tables.ts'

/**
 * The time for which a read key is used without another read, in milliseconds. A revocation at a
 * host that cannot tell this one takes effect within a second.
 */
const freshMs = 900

/** The maximum number of cached keys. The cache is emptied beyond that. */
const maxKeys = 1000

/** A cache of recently read keys, so that a client's next request does not read its key again. */
export class RecentKeys {
  readonly #keys = new Map<string, { readonly row: KeyRow; readonly readAt: number }>()
  #clears = 0

  /** The number of times that the cache was emptied. Keys that were read before may have ended. */
  get clears(): number {
    return this.#clears
  }

  /** Returns the key of a digest if it was read recently. */
  get(digest: string): KeyRow | null {
    const known = this.#keys.get(digest)
    if (known === undefined) return null
    if (performance.now() - known.readAt <= freshMs) return known.row
    this.#keys.delete(digest)
    return null
  }

  /**
   * Caches a key by the digest of the sent secret. Does nothing if the cache was emptied since the
   * key was read, when it had `clears`. A key that is cached already keeps its age.
   */
  set(digest: string, row: KeyRow, clears: number): void {
    if (clears !== this.#clears) return
    if (this.#keys.size >= maxKeys) this.#keys.clear()
    this.#keys.set(digest, { row, readAt: this.#keys.get(digest)?.readAt ?? performance.now() })
  }

  /** Empties the cache after a key has changed. */
  clear(): void {
    this.#clears += 1
    this.#keys.clear()
  }
}
