/** A shell pattern of a substitution: `*`, `?` and characters. */
export type Glob = readonly GlobPart[]

type GlobPart = { readonly type: 'star' | 'any' } | { readonly type: 'char'; readonly char: string }

/** Charges steps, and throws when none are left. This bounds patterns that are slow to match. */
export type Spend = (steps: number) => void

/**
 * Reads the pattern of a word: an escape before a wildcard makes it a character. Returns null for
 * an escape of anything else.
 */
export function readGlob(text: string, escapeChar: string): Glob | null {
  const parts: GlobPart[] = []
  const chars = [...text]
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? ''
    if (char === '*') parts.push({ type: 'star' })
    else if (char === '?') parts.push({ type: 'any' })
    else if (char !== escapeChar) parts.push({ type: 'char', char })
    else {
      const next = chars[at + 1] ?? ''
      // A brace or slash is escaped for the word around it, not for the pattern.
      if (next === '}' || next === '/') continue
      if (next !== '*' && next !== '?' && next !== escapeChar) return null
      parts.push({ type: 'char', char: next })
      at += 1
    }
  }
  return parts
}

/** Options of a match. */
interface MatchOptions {
  readonly start?: number
  readonly longest: boolean
  readonly spend: Spend
}

/**
 * Matches one pattern repeatedly. The places in the pattern that may come next are kept in the same
 * memory.
 */
class Matcher {
  readonly #glob: Glob
  #now: Int32Array
  #next: Int32Array
  #count = 0
  /** The round in which each place of the pattern was last added. */
  readonly #addedIn: Int32Array
  #round = 0

  constructor(glob: Glob) {
    this.#glob = glob
    this.#now = new Int32Array(glob.length + 1)
    this.#next = new Int32Array(glob.length + 1)
    this.#addedIn = new Int32Array(glob.length + 1)
  }

  /**
   * Returns the number of characters from `start` that the pattern matches, the fewest or the most.
   * Returns null if it does not match. Wildcards match no newline.
   */
  lengthIn(value: readonly string[], { start = 0, longest, spend }: MatchOptions): number | null {
    this.#begin()
    this.#add(0)
    let found: number | null = null
    for (let at = start; ; at += 1) {
      if (this.#addedIn[this.#glob.length] === this.#round) {
        found = at - start
        if (!longest) return found
      }
      const char = value[at]
      if (char === undefined || this.#count === 0) return found
      spend(this.#count + 1)
      this.#step(char)
    }
  }

  #begin(): void {
    this.#round += 1
    this.#count = 0
  }

  #step(char: string): void {
    const before = this.#next
    this.#next = this.#now
    this.#now = before
    const count = this.#count
    this.#begin()
    for (let index = 0; index < count; index += 1) {
      const place = this.#next[index] ?? 0
      const part = this.#glob[place]
      if (part === undefined) continue
      if (part.type === 'char') {
        if (part.char === char) this.#add(place + 1)
      } else if (char !== '\n') this.#add(part.type === 'star' ? place : place + 1)
    }
  }

  /** Adds a place, and the places after the stars that follow it: a star may match nothing. */
  #add(first: number): void {
    for (let place = first; this.#addedIn[place] !== this.#round; place += 1) {
      this.#addedIn[place] = this.#round
      this.#now[this.#count] = place
      this.#count += 1
      if (this.#glob[place]?.type !== 'star') return
    }
  }
}

/** Returns the value without the part at its beginning (or end) that the pattern matches. */
export function trimByGlob(
  glob: Glob,
  value: string,
  { side, longest, spend }: { readonly side: 'prefix' | 'suffix'; readonly longest: boolean; readonly spend: Spend },
): string {
  spend(value.length)
  const chars = [...value]
  if (side === 'prefix') return chars.slice(new Matcher(glob).lengthIn(chars, { longest, spend }) ?? 0).join('')
  const length = new Matcher(glob.toReversed()).lengthIn(chars.toReversed(), { longest, spend }) ?? 0
  return chars.slice(0, chars.length - length).join('')
}

/** Returns the value with the first match, or all matches, replaced. */
export function replaceByGlob(
  glob: Glob,
  value: string,
  { by, all, spend }: { readonly by: string; readonly all: boolean; readonly spend: Spend },
): string {
  spend(value.length)
  const chars = [...value]
  const matcher = new Matcher(glob)
  let result = ''
  let afterMatch = -1
  for (let at = 0; at <= chars.length; ) {
    spend(1)
    const length = matcher.lengthIn(chars, { start: at, longest: true, spend })
    const taken = length !== null && !(length === 0 && at === afterMatch)
    if (taken) {
      spend(by.length)
      result += by
      if (!all) return result + chars.slice(at + length).join('')
    }
    if (taken && length > 0) {
      at += length
      afterMatch = at
    } else {
      result += chars[at] ?? ''
      at += 1
    }
  }
  return result
}
