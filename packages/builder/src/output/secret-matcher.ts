/**
 * Finds many values in texts, in one pass over each (Aho and Corasick, 1975). The time depends on
 * the text alone. Otherwise a client could choose thousands of values and millions of texts, and
 * searching would occupy the service.
 */
export class SecretMatcher {
  /** The next node, by a node and a UTF-16 unit. */
  readonly #edges = new Map<number, number>()
  /** The node of the longest proper suffix of a node's text that is also a prefix of a value. */
  readonly #fallback: number[] = [0]
  /** The length of a node's text. */
  readonly #depth: number[] = [0]
  /** The length of the longest value that a node's text ends with, or 0. */
  readonly #found: number[] = [0]
  /** True if a longer text continues a node's text. */
  readonly #goesOn: boolean[] = [false]

  constructor(values: Iterable<string>) {
    const firsts: { readonly node: number; readonly parent: number; readonly unit: number }[] = []
    for (const value of values) this.#add(value, firsts)
    // Shorter prefixes come first, so that the fallback of a node is already known.
    firsts.sort((one, other) => (this.#depth[one.node] ?? 0) - (this.#depth[other.node] ?? 0))
    for (const { node, parent, unit } of firsts) {
      const fallback = parent === 0 ? 0 : this.#step(this.#fallback[parent] ?? 0, unit)
      this.#fallback[node] = fallback
      this.#found[node] = Math.max(this.#found[node] ?? 0, this.#found[fallback] ?? 0)
    }
  }

  /** Returns the text with `mask` in place of each value. Overlapping values become one mask. */
  replace(text: string, mask: string): string {
    if (this.#edges.size === 0) return text
    const spans: { from: number; to: number }[] = []
    let node = 0
    for (let at = 0; at < text.length; at++) {
      node = this.#step(node, text.charCodeAt(at))
      const length = this.#found[node] ?? 0
      if (length === 0) continue
      const span = { from: at + 1 - length, to: at + 1 }
      for (let last = spans.at(-1); last !== undefined && last.to > span.from; last = spans.at(-1)) {
        span.from = Math.min(span.from, last.from)
        spans.pop()
      }
      spans.push(span)
    }
    let done = 0
    let clean = ''
    for (const { from, to } of spans) {
      clean += text.slice(done, from) + mask
      done = to
    }
    return spans.length === 0 ? text : clean + text.slice(done)
  }

  /**
   * Returns the length of the text's end that is the beginning of a value. Later text could
   * complete it.
   */
  openEnd(text: string): number {
    if (this.#edges.size === 0) return 0
    let node = 0
    for (let at = 0; at < text.length; at++) node = this.#step(node, text.charCodeAt(at))
    while (node !== 0 && this.#goesOn[node] !== true) node = this.#fallback[node] ?? 0
    return this.#depth[node] ?? 0
  }

  #add(value: string, made: { node: number; parent: number; unit: number }[]): void {
    let node = 0
    for (let at = 0; at < value.length; at++) {
      const unit = value.charCodeAt(at)
      const known = this.#edges.get(keyOf(node, unit))
      const next = known ?? this.#depth.length
      if (known === undefined) {
        this.#edges.set(keyOf(node, unit), next)
        this.#depth.push(at + 1)
        this.#found.push(0)
        this.#fallback.push(0)
        this.#goesOn.push(false)
        this.#goesOn[node] = true
        made.push({ node: next, parent: node, unit })
      }
      node = next
    }
    if (node !== 0) this.#found[node] = value.length
  }

  #step(from: number, unit: number): number {
    for (let node = from; ; node = this.#fallback[node] ?? 0) {
      const next = this.#edges.get(keyOf(node, unit))
      if (next !== undefined) return next
      if (node === 0) return 0
    }
  }
}

function keyOf(node: number, unit: number): number {
  return node * 0x10000 + unit
}
