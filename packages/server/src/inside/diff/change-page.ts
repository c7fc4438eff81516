import type { TreeChange } from './tree-change.ts'

/**
 * The first changes after a path, in the order of the bytes of their paths. Any number of changes
 * may be added in any order. At most twice the size of the page is held.
 */
export class ChangePage {
  readonly #after: Buffer | null
  readonly #size: number
  #changes: TreeChange[] = []
  /** No change from this path on belongs to the page; null if the page is not full. */
  #bound: Buffer | null = null

  constructor({ after, size }: { readonly after: Buffer | null; readonly size: number }) {
    this.#after = after
    this.#size = size
  }

  /** Returns true if a change of this path can belong to the page. */
  wants(path: Buffer): boolean {
    if (this.#after !== null && Buffer.compare(path, this.#after) <= 0) return false
    return this.#bound === null || Buffer.compare(path, this.#bound) < 0
  }

  add(change: TreeChange): void {
    if (!this.wants(change.path)) return
    this.#changes.push(change)
    if (this.#changes.length >= 2 * this.#size + 2) this.#cut()
  }

  /** Returns the changes of the page, in order, and whether more follow. */
  end(): { readonly changes: readonly TreeChange[]; readonly more: boolean } {
    this.#cut()
    return { changes: this.#changes.slice(0, this.#size), more: this.#changes.length > this.#size }
  }

  #cut(): void {
    this.#changes.sort((a, b) => Buffer.compare(a.path, b.path))
    this.#changes = this.#changes.slice(0, this.#size + 1)
    if (this.#changes.length > this.#size) this.#bound = this.#changes.at(-1)?.path ?? null
  }
}
