/**
 * Keeps things without a reference in a row: new images, and the images, checkpoints and contexts
 * of a build. The engine stores equal images once, so another build may need an unreferenced image
 * at any moment. A build holds an image before it is published.
 */
export class Holds {
  readonly #held = new Map<string, Set<string>>()
  /** The ids held at any moment since the running collection began. Null without a collection. */
  #recent: Set<string> | null = null
  #removal: Promise<unknown> = Promise.resolve()

  /** Holds a thing until its holder releases it. */
  hold(holder: string, id: string): void {
    const ids = this.#held.get(holder) ?? new Set()
    this.#held.set(holder, ids.add(id))
    this.#recent?.add(id)
  }

  /** Releases everything that a holder holds. */
  release(holder: string): void {
    this.#held.delete(holder)
  }

  isHeld(id: string): boolean {
    for (const ids of this.#held.values()) if (ids.has(id)) return true
    return false
  }

  /**
   * Holds an image before it is published. Resolves when it can be published, after a removal in
   * progress, which may be of the same image. An unpublished image does not delay removals, however
   * long its writer takes.
   */
  async beforePublish(holder: string, digest: string): Promise<void> {
    this.hold(holder, digest)
    await this.#removal
  }

  /**
   * Starts a collection. The caller reads the references afterwards. Only one collection runs at a
   * time.
   */
  beginCollection(): Collection {
    const recent = new Set([...this.#held.values()].flatMap((ids) => [...ids]))
    this.#recent = recent
    return {
      remove: async (id, remove) => {
        await this.#removal
        if (recent.has(id)) return
        const removal = remove()
        this.#removal = removal.catch(() => {}) // Whoever asked for the removal sees how it went.
        await removal
      },
      [Symbol.dispose]: () => {
        if (this.#recent === recent) this.#recent = null
      },
    }
  }
}

/** A collection in progress. */
export interface Collection extends Disposable {
  /**
   * Removes a thing without references, unless it is held or was held since the collection began. A
   * holder may have written a reference that did not exist when references were read.
   */
  remove(id: string, remove: () => Promise<void>): Promise<void>
}
