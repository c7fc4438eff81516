import type { TreeChange } from './tree-change.ts'

/**
 * The first changes after a path, in the order of the bytes of their paths. Any number of changes
 * may be added in any order. A page has at most `size` changes, and at most `maxPathBytes` of paths
 * unless one path alone is longer. At most twice as much is held.
 */
export class ChangePage {
  readonly #after: Buffer | null
  readonly #size: number
  readonly #maxPathBytes: number
  #changes: TreeChange[] = []
  #pathBytes = 0
  /** No change from this path on belongs to the page; null if the page is not full. */
  #bound: Buffer | null = null

  constructor({
    after,
    size,
    maxPathBytes,
  }: { readonly after: Buffer | null; readonly size: number; readonly maxPathBytes: number }) {
    this.#after = after
    this.#size = size
    this.#maxPathBytes = maxPathBytes
  }

  /** Returns true if a change of this path can belong to the page. */
  wants(path: Buffer): boolean {
    if (this.#after !== null && Buffer.compare(path, this.#after) <= 0) return false
    return this.#bound === null || Buffer.compare(path, this.#bound) < 0
  }

  add(change: TreeChange): void {
    if (!this.wants(change.path)) return
    this.#changes.push({ ...change, path: ownBytes(change.path) })
    this.#pathBytes += change.path.length
    if (this.#changes.length >= 2 * this.#size + 2 || this.#pathBytes >= 2 * this.#maxPathBytes) this.#cut()
  }

  /** Returns the changes of the page, in order, and whether more follow. */
  end(): { readonly changes: readonly TreeChange[]; readonly more: boolean } {
    const count = this.#cut()
    return { changes: this.#changes.slice(0, count), more: this.#changes.length > count }
  }

  /** Drops the changes behind the page, except the first. Returns the number that the page has. */
  #cut(): number {
    this.#changes.sort((a, b) => Buffer.compare(a.path, b.path))
    const count = this.#countOfPage()
    this.#changes = this.#changes.slice(0, count + 1)
    this.#pathBytes = this.#changes.reduce((sum, { path }) => sum + path.length, 0)
    if (this.#changes.length > count) this.#bound = this.#changes.at(-1)?.path ?? null
    return count
  }

  #countOfPage(): number {
    let bytes = 0
    let count = 0
    for (const { path } of this.#changes.slice(0, this.#size)) {
      bytes += path.length
      if (bytes > this.#maxPathBytes && count > 0) break
      count += 1
    }
    return count
  }
}

/** Returns a copy in memory of its own. A small `Buffer` keeps others in memory that it shares. */
function ownBytes(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return own
}
