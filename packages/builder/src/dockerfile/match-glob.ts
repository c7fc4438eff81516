/** A shell pattern of a substitution: `*`, `?` and characters. */
export type Glob = readonly GlobPart[]

type GlobPart = { readonly type: 'star' | 'any' } | { readonly type: 'char'; readonly char: string }

/** Counts work down, and throws when there is none left: what bounds a pattern that is slow to match. */
export type Spend = (steps: number) => void

/** Reads a pattern as it is left in a word: an escape before a wildcard makes it a character. Null for an escape of anything else. */
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

/** How many characters from `start` a pattern takes: the fewest or the most; null where it does not fit. A wildcard takes no newline. */
function matchLength(
  glob: Glob,
  value: readonly string[],
  { start = 0, longest, spend }: { readonly start?: number; readonly longest: boolean; readonly spend: Spend },
): number | null {
  let states = skipStars(glob, new Set([0]))
  let found: number | null = null
  for (let at = start; ; at += 1) {
    if (states.has(glob.length)) {
      found = at - start
      if (!longest) return found
    }
    const char = value[at]
    if (char === undefined || states.size === 0) return found
    spend(states.size + 1)
    states = skipStars(glob, step(glob, states, char))
  }
}

function step(glob: Glob, states: ReadonlySet<number>, char: string): Set<number> {
  const next = new Set<number>()
  for (const state of states) {
    const part = glob[state]
    if (part === undefined) continue
    if (part.type === 'char') {
      if (part.char === char) next.add(state + 1)
    } else if (char !== '\n') next.add(part.type === 'star' ? state : state + 1)
  }
  return next
}

/** A star may take nothing. */
function skipStars(glob: Glob, states: Set<number>): Set<number> {
  for (const state of states) if (glob[state]?.type === 'star') states.add(state + 1)
  return states
}

/** The value without the part at its beginning (or end) that the pattern takes. */
export function trimByGlob(
  glob: Glob,
  value: string,
  { side, longest, spend }: { readonly side: 'prefix' | 'suffix'; readonly longest: boolean; readonly spend: Spend },
): string {
  spend(value.length)
  const chars = [...value]
  if (side === 'prefix') return chars.slice(matchLength(glob, chars, { longest, spend }) ?? 0).join('')
  const length = matchLength(glob.toReversed(), chars.toReversed(), { longest, spend }) ?? 0
  return chars.slice(0, chars.length - length).join('')
}

/** The value with the first match, or all of them, replaced. */
export function replaceByGlob(
  glob: Glob,
  value: string,
  { by, all, spend }: { readonly by: string; readonly all: boolean; readonly spend: Spend },
): string {
  spend(value.length)
  const chars = [...value]
  let result = ''
  let afterMatch = -1
  for (let at = 0; at <= chars.length; ) {
    spend(1)
    const length = matchLength(glob, chars, { start: at, longest: true, spend })
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
