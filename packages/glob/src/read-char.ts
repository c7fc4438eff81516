import type { CharClass, GlobPart } from './glob.ts'

/**
 * Reads the part of a pattern that matches one certain character: a class, an escaped character, or
 * the character itself. `end` is the last place of the part. Returns null if it is malformed.
 */
export function readChar(
  chars: readonly string[],
  start: number,
): { readonly part: CharClass | Extract<GlobPart, { type: 'char' }>; readonly end: number } | null {
  const char = chars[start]
  if (char === '[') return readClass(chars, start + 1)
  const end = char === '\\' ? start + 1 : start
  const own = chars[end]
  return own === undefined ? null : { part: { type: 'char', char: own }, end }
}

/**
 * Reads a class such as `[a-z]` or `[^a-z]` as Go's `path.Match` does. `start` is behind its `[`,
 * and `end` is the place of its `]`. Returns null if it is malformed.
 */
function readClass(chars: readonly string[], start: number): { readonly part: CharClass; readonly end: number } | null {
  const ranges: [low: string, high: string][] = []
  const negated = chars[start] === '^'
  let at = negated ? start + 1 : start
  const one = (): string | null => {
    if (chars[at] === '-' || chars[at] === ']') return null
    if (chars[at] === '\\') at += 1
    return chars[at++] ?? null
  }
  do {
    const low = one()
    if (low === null) return null
    let high: string | null = low
    if (chars[at] === '-') {
      at += 1
      high = one()
    }
    if (high === null) return null
    ranges.push([low, high])
  } while (chars[at] !== ']')
  return { part: { type: 'class', negated, ranges }, end: at }
}
