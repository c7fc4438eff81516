import type { KeyRow } from '../store/tables.ts'

/**
 * How long a key that was read is taken as it was: another process that revokes it is heard within
 * a second.
 */
const freshMs = 900

/** More keys than this in use at once are read each time. */
const maxKeys = 1000

/**
 * Keys that were read a moment ago, so that a client's next request need not read its key again.
 */
export class RecentKeys {
  readonly #keys = new Map<string, { readonly row: KeyRow; readonly readAt: number }>()

  /** The key of a digest, if it was read a moment ago. */
  get(digest: string): KeyRow | null {
    const known = this.#keys.get(digest)
    if (known === undefined) return null
    if (performance.now() - known.readAt <= freshMs) return known.row
    this.#keys.delete(digest)
    return null
  }

  /**
   * Keeps a key by the digest of the secret that was sent. One that is kept already stays as old as
   * it is.
   */
  set(digest: string, row: KeyRow): void {
    if (this.#keys.size >= maxKeys) this.#keys.clear()
    this.#keys.set(digest, { row, readAt: this.#keys.get(digest)?.readAt ?? performance.now() })
  }

  /** Forgets all: a key has changed. */
  clear(): void {
    this.#keys.clear()
  }
}
