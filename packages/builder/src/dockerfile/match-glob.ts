import { type Glob, type GlobPart, Matcher, type Spend } from '@holt/glob'

// The patterns of a substitution, `*`, `?` and characters. A wildcard matches no newline.

/**
 * Reads the pattern of a word: an escape before a wildcard makes it a character. Returns null for
 * an escape of anything else.
 */
export function readGlob(text: string, escapeChar: string): Glob | null {
  const parts: GlobPart[] = []
  const chars = [...text]
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? ''
    if (char === '*') parts.push({ type: 'star', except: '\n' })
    else if (char === '?') parts.push({ type: 'any', except: '\n' })
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
