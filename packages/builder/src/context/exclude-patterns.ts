import { advance, beginMatch, isWhole, type PathPattern, type Progress } from '@holt/glob'
import { readPattern, requirePathLength } from './read-pattern.ts'
import type { SearchAccount } from './search-account.ts'

interface Rule {
  readonly pattern: PathPattern
  /** True for `!`: includes again the paths that an earlier rule excluded. */
  readonly keep: boolean
}

/**
 * The progress of each rule along a path: the places that may match next. True if the rule matches
 * this path or a directory above it.
 */
export type ExcludeState = readonly (Progress | true)[]

/**
 * Exclusion patterns, as in `.dockerignore`: the last one that matches a path, or a directory above
 * it, decides.
 */
export class Excludes {
  readonly #rules: readonly Rule[]
  readonly #account: SearchAccount
  /** True if a rule may include something again in an excluded directory. */
  readonly canKeep: boolean

  constructor(patterns: readonly string[], account: SearchAccount) {
    this.#rules = patterns.map(readRule)
    this.#account = account
    this.canKeep = this.#rules.some(({ keep }) => keep)
  }

  /** Returns the state at the directory that patterns are relative to. */
  begin(): ExcludeState {
    return this.#rules.map(({ pattern }) => beginMatch(pattern))
  }

  /** Returns the state one name further. Yields when it is time to rest. */
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

  /** Returns true if the path of this state is excluded. */
  isExcluded(state: ExcludeState): boolean {
    const last = this.#rules.findLastIndex((_, index) => state[index] === true)
    return last !== -1 && this.#rules[last]?.keep === false
  }
}

function readRule(text: string): Rule {
  requirePathLength(text)
  const keep = text.startsWith('!')
  const components = (keep ? text.slice(1) : text).split('/').filter((part) => part !== '' && part !== '.')
  return { pattern: readPattern(components), keep }
}

const read = new WeakMap<SearchAccount, { readonly patterns: readonly string[]; readonly excludes: Excludes }>()

/**
 * Reads patterns once for all files that they apply to: ADD takes up to 250,000 files one by one.
 */
export function excludesOf(patterns: readonly string[], account: SearchAccount): Excludes {
  const last = read.get(account)
  if (last?.patterns === patterns) return last.excludes
  for (const { length } of patterns) account.spend(length)
  const excludes = new Excludes(patterns, account)
  read.set(account, { patterns, excludes })
  return excludes
}
