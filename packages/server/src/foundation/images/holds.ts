/**
 * Keeps things that no row refers to: new images, images that a build continues from, and the
 * checkpoints and contexts that it reads. The engine stores equal images once, so another build may
 * need an unreferenced image at any moment. A build holds an image before it is published.
 */
export class Holds {
  readonly #held = new Map<string, Set<string>>()
  /** The ids held at any moment since the running collection began. Null without a collection. */
  #recent: Set<string> | null = null
  #removal: Promise<unknown> = Promise.resolve()

  /** Keeps a thing for as long as its holder does not let go. */
  hold(holder: string, id: string): void {
    const ids = this.#held.get(holder) ?? new Set()
    this.#held.set(holder, ids.add(id))
    this.#recent?.add(id)
  }

  /** Lets go of everything that a holder keeps. */
  release(holder: string): void {
    this.#held.delete(holder)
  }

  isHeld(id: string): boolean {
    for (const ids of this.#held.values()) if (ids.has(id)) return true
    return false
  }

  /**
   * Holds an image that is about to be published, and resolves when it may be: a removal that began
   * before, perhaps of the same one, is over then. Until somebody calls this, an image that is
   * being written keeps nothing from being removed, however long its writer takes.
   */
  async beforePublish(holder: string, digest: string): Promise<void> {
    this.hold(holder, digest)
    await this.#removal
  }

  /** Begins a collection; the references that it goes by are read after this. One at a time. */
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

/** A collection under way. */
export interface Collection extends Disposable {
  /**
   * Removes what nobody refers to, unless somebody holds it or held it since the collection began:
   * whoever let go of it may have made a reference that was not there yet when references were
   * read.
   */
  remove(id: string, remove: () => Promise<void>): Promise<void>
}
