/**
 * Finds many values in texts, in one pass over each (Aho and Corasick, 1975): how long that takes
 * depends on the text alone. Who chooses values and texts would else choose thousands of the one
 * and millions of the other, and the service would do nothing but look for them.
 */
export class SecretMatcher {
  /** From a node and a UTF-16 unit to the next node. */
  readonly #edges = new Map<number, number>()
  /** The node of the longest shorter end of a node's text that is a beginning too. */
  readonly #fallback: number[] = [0]
  /** How long the text of a node is. */
  readonly #depth: number[] = [0]
  /** The longest value that a node's text ends with; 0 where it ends with none. */
  readonly #found: number[] = [0]
  /** Whether a longer text goes on from a node's. */
  readonly #goesOn: boolean[] = [false]

  constructor(values: Iterable<string>) {
    const firsts: { readonly node: number; readonly parent: number; readonly unit: number }[] = []
    for (const value of values) this.#add(value, firsts)
    // Shorter beginnings first: what a node falls back to is known by then.
    firsts.sort((one, other) => (this.#depth[one.node] ?? 0) - (this.#depth[other.node] ?? 0))
    for (const { node, parent, unit } of firsts) {
      const fallback = parent === 0 ? 0 : this.#step(this.#fallback[parent] ?? 0, unit)
      this.#fallback[node] = fallback
      this.#found[node] = Math.max(this.#found[node] ?? 0, this.#found[fallback] ?? 0)
    }
  }

  /** The text with `mask` in the place of each value; values that overlap go together. */
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

  /** How much of a text's end is the beginning of a value that what follows would complete. */
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
