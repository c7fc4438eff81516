import { type Glob, hasChar, type Spend } from './glob.ts'

/** The part of a text to match, and the account of the steps. */
export interface MatchOptions {
  /** The first character to match. Default: the first of the text. */
  readonly start?: number
  /** True for the longest match; default: the shortest one. */
  readonly longest?: boolean
  /** Returns true for a place where a match may end. Default: all places. */
  readonly endsAt?: (at: number) => boolean
  readonly spend?: Spend
}

/**
 * Matches one pattern, also repeatedly. It follows all places of the pattern that may come next, in
 * the same memory, and never goes back in the text. So a match takes at most the product of the
 * lengths of the text and the pattern (Thompson, "Regular Expression Search Algorithm", 1968).
 */
export class Matcher {
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

  /** Returns true if the pattern matches the whole text. */
  matches(text: ArrayLike<string>, spend?: Spend): boolean {
    const endsAt = (at: number) => at === text.length
    return this.lengthIn(text, spend === undefined ? { endsAt } : { endsAt, spend }) !== null
  }

  /**
   * Returns the number of characters from `start` that the pattern matches, or null if it does not
   * match.
   */
  lengthIn(text: ArrayLike<string>, { start = 0, longest = false, endsAt, spend }: MatchOptions = {}): number | null {
    this.#begin()
    this.#add(0)
    let found: number | null = null
    for (let at = start; ; at += 1) {
      if (this.#addedIn[this.#glob.length] === this.#round && endsAt?.(at) !== false) {
        found = at - start
        if (!longest) return found
      }
      const char = text[at]
      if (char === undefined || this.#count === 0) return found
      const steps = this.#step(char)
      spend?.(steps)
    }
  }

  #begin(): void {
    this.#round += 1
    this.#count = 0
  }

  /** Moves all places one character further. Returns the number of steps. */
  #step(char: string): number {
    const before = this.#now
    this.#now = this.#next
    this.#next = before
    const count = this.#count
    let steps = count + 1
    this.#begin()
    for (let index = 0; index < count; index += 1) {
      const place = before[index] ?? 0
      const part = this.#glob[place]
      if (part === undefined) continue
      if (part.type === 'char') {
        if (part.char === char) this.#add(place + 1)
      } else if (part.type === 'folders') {
        this.#mark(place)
        if (char === '/') this.#add(place + 1)
      } else if (part.type === 'class') {
        steps += part.ranges.length
        if (hasChar(part, char)) this.#add(place + 1)
      } else if (part.except !== char) this.#add(part.type === 'star' ? place : place + 1)
    }
    return steps
  }

  /**
   * Adds a place, and the places after the parts that follow it and may match nothing. Inside of
   * `folders` the place after it is added only behind a slash, so its own mark does not tell.
   */
  #add(first: number): void {
    for (let place = first; ; place += 1) {
      const isNew = this.#mark(place)
      const type = this.#glob[place]?.type
      if (type !== 'folders' && (type !== 'star' || !isNew)) return
    }
  }

  /** Adds a place alone. Returns false if it was there. */
  #mark(place: number): boolean {
    if (this.#addedIn[place] === this.#round) return false
    this.#addedIn[place] = this.#round
    this.#now[this.#count] = place
    this.#count += 1
    return true
  }
}
