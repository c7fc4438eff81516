import {
  advance,
  beginMatch,
  isWhole,
  type PathPattern,
  type Progress,
  readPathPattern,
  requirePathLength,
} from './match-path.ts'
import type { SearchAccount } from './search-account.ts'

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
  readonly #account: SearchAccount
  /** Whether something in a directory that is left out may be in again. */
  readonly canKeep: boolean

  constructor(patterns: readonly string[], account: SearchAccount) {
    this.#rules = patterns.map(readRule)
    this.#account = account
    this.canKeep = this.#rules.some(({ keep }) => keep)
  }

  /** The state at the directory that patterns are relative to. */
  begin(): ExcludeState {
    return this.#rules.map(({ pattern }) => beginMatch(pattern))
  }

  /** The state one name further. Yields where it is time to rest. */
  *enter(state: ExcludeState, name: string): Generator<void, ExcludeState> {
    if (this.#rules.length === 0) return state
    const next: (Progress | true)[] = []
    for (const [index, { pattern }] of this.#rules.entries()) {
      const before = state[index]
      if (before === true || before === undefined) next.push(true)
      else {
        const after = advance(pattern, before, name, this.#account.spend)
        next.push(isWhole(pattern, after) ? true : after)
        if (this.#account.isDue) yield
      }
    }
    this.#account.spend(1)
    return next
  }

  /** Whether the path of this state is left out. */
  isExcluded(state: ExcludeState): boolean {
    const last = this.#rules.findLastIndex((_, index) => state[index] === true)
    return last !== -1 && this.#rules[last]?.keep === false
  }
}

function readRule(text: string): Rule {
  requirePathLength(text)
  const keep = text.startsWith('!')
  const components = (keep ? text.slice(1) : text).split('/').filter((part) => part !== '' && part !== '.')
  return { pattern: readPathPattern(components), keep }
}

const read = new WeakMap<SearchAccount, { readonly patterns: readonly string[]; readonly excludes: Excludes }>()

/** Reads patterns, once for all that is copied with them: ADD takes up to 250,000 files one by one. */
export function excludesOf(patterns: readonly string[], account: SearchAccount): Excludes {
  const last = read.get(account)
  if (last?.patterns === patterns) return last.excludes
  for (const { length } of patterns) account.spend(length)
  const excludes = new Excludes(patterns, account)
  read.set(account, { patterns, excludes })
  return excludes
}
