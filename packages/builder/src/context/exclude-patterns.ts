import {
  advance,
  beginMatch,
  isWhole,
  type PathPattern,
  type Progress,
  readPathPattern,
  type Spend,
} from './match-path.ts'

interface Rule {
  readonly pattern: PathPattern
  /** `!`: what an earlier rule left out is in again. */
  readonly keep: boolean
}

/** How far the rules have got with a path: each with what it may still match, or true where it fits this path or a directory above. */
export type ExcludeState = readonly (Progress | true)[]

/** Patterns of what is left out, as `.dockerignore` has them: the last one that fits a path, or a directory above it, decides. */
export class Excludes {
  readonly #rules: readonly Rule[]
  readonly #spend: Spend
  /** Whether something in a directory that is left out may be in again. */
  readonly canKeep: boolean

  constructor(patterns: readonly string[], spend: Spend) {
    this.#rules = patterns.map(readRule)
    this.#spend = spend
    this.canKeep = this.#rules.some(({ keep }) => keep)
  }

  /** The state at the directory that patterns are relative to. */
  begin(): ExcludeState {
    return this.#rules.map(({ pattern }) => beginMatch(pattern))
  }

  /** The state one name further. */
  enter(state: ExcludeState, name: string): ExcludeState {
    return this.#rules.map(({ pattern }, index) => {
      const before = state[index]
      if (before === true || before === undefined) return true
      const after = advance(pattern, before, name, this.#spend)
      return isWhole(pattern, after) ? true : after
    })
  }

  /** Whether the path of this state is left out. */
  isExcluded(state: ExcludeState): boolean {
    const last = this.#rules.findLastIndex((_, index) => state[index] === true)
    return last !== -1 && this.#rules[last]?.keep === false
  }
}

function readRule(text: string): Rule {
  const keep = text.startsWith('!')
  const components = (keep ? text.slice(1) : text).split('/').filter((part) => part !== '' && part !== '.')
  return { pattern: readPathPattern(components), keep }
}
