import { variableSize } from '../dockerfile/word-account.ts'

/**
 * Variables and their total size. Setting one costs as much as its own size, regardless of how many
 * there are.
 */
export class Variables {
  readonly #values = new Map<string, string>()
  #size = 0
  #jsonBytes = 0

  constructor(initial: Iterable<readonly [string, string]> = []) {
    for (const [name, value] of initial) this.set(name, value)
  }

  get values(): ReadonlyMap<string, string> {
    return this.#values
  }

  /** The size of all pairs, as accounts count it. */
  get size(): number {
    return this.#size
  }

  /** The size of all pairs as a JSON array, in bytes. */
  get jsonBytes(): number {
    return this.#jsonBytes + Math.max(this.#values.size - 1, 0) + '[]'.length
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  get(name: string): string | undefined {
    return this.#values.get(name)
  }

  set(name: string, value: string): void {
    const before = this.#values.get(name)
    if (before === value) return
    if (before !== undefined) this.#count(name, before, -1)
    this.#count(name, value, 1)
    this.#values.set(name, value)
  }

  #count(name: string, value: string, sign: 1 | -1): void {
    this.#size += sign * variableSize(name, value)
    this.#jsonBytes += sign * Buffer.byteLength(JSON.stringify([name, value]))
  }
}
