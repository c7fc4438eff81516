import { BuildError } from '../build/contract.ts'

/** A pattern of one component of a path. */
type NamePattern = readonly Part[]

type Part =
  | { readonly type: 'star' | 'any' }
  | { readonly type: 'char'; readonly char: string }
  | { readonly type: 'class'; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] }

/** Any number of components. */
const anyDepth = '**'

/** A pattern of a path, component by component. */
export type PathPattern = readonly (NamePattern | typeof anyDepth)[]

/** Whether a source is a pattern. */
export function hasWildcard(text: string): boolean {
  return /[*?[]/.test(text.replace(/\\./gs, ''))
}

/** A component without its escapes. */
export function unescapeName(text: string): string {
  return text.replace(/\\(.)/gs, '$1')
}

/** Reads a pattern as Go's `path.Match` does, with `**` for any number of components. */
export function readPathPattern(components: readonly string[]): PathPattern {
  return components.map((text) => (text === anyDepth ? anyDepth : readNamePattern(text)))
}

function readNamePattern(text: string): NamePattern {
  const chars = [...text]
  const parts: Part[] = []
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? ''
    if (char === '*') {
      if (parts.at(-1)?.type !== 'star') parts.push({ type: 'star' })
    } else if (char === '?') parts.push({ type: 'any' })
    else if (char === '[') {
      const { part, end } = readClass(chars, at + 1, text)
      parts.push(part)
      at = end
    } else if (char === '\\') {
      at += 1
      parts.push({ type: 'char', char: chars[at] ?? bad(text) })
    } else parts.push({ type: 'char', char })
  }
  return parts
}

/** `[a-z]`, `[^a-z]`; ends at its `]`. */
function readClass(chars: readonly string[], start: number, text: string): { part: Part; end: number } {
  const ranges: [string, string][] = []
  let at = start
  const negated = chars[at] === '^'
  if (negated) at += 1
  const one = (): string => {
    if (chars[at] === '-' || chars[at] === ']') bad(text)
    if (chars[at] === '\\') at += 1
    const char = chars[at] ?? bad(text)
    at += 1
    return char
  }
  do {
    const low = one()
    if (chars[at] === '-') at += 1
    else {
      ranges.push([low, low])
      continue
    }
    ranges.push([low, one()])
  } while (chars[at] !== ']')
  return { part: { type: 'class', negated, ranges }, end: at }
}

function bad(text: string): never {
  throw new BuildError('dockerfile_invalid', `${JSON.stringify(text.slice(0, 200))} is no pattern of names.`, {
    hint: 'A bracket that is part of a name is written \\[.',
  })
}

/** Counts work down, and throws when there is none left. */
export type Spend = (steps: number) => void

/** Whether a name fits. Takes as long as the name times the pattern at the most. */
function matchName(pattern: NamePattern, name: string, spend: Spend): boolean {
  const chars = [...name]
  let [part, at, steps] = [0, 0, 1]
  let [starPart, starAt] = [-1, -1]
  let fits = true
  while (fits && at < chars.length) {
    steps += 1
    const here = pattern[part]
    if (here?.type === 'star') {
      starPart = part
      starAt = at
      part += 1
    } else if (here !== undefined && takes(here, chars[at] ?? '')) {
      part += 1
      at += 1
    } else if (starPart !== -1) {
      // The last star takes one more character; an earlier one need not.
      starAt += 1
      part = starPart + 1
      at = starAt
    } else fits = false
  }
  spend(steps)
  while (pattern[part]?.type === 'star') part += 1
  return fits && part === pattern.length
}

function takes(part: Part, char: string): boolean {
  if (part.type === 'char') return part.char === char
  if (part.type !== 'class') return true
  const code = char.codePointAt(0) ?? 0
  const within = part.ranges.some(
    ([low, high]) => code >= (low.codePointAt(0) ?? 0) && code <= (high.codePointAt(0) ?? 0),
  )
  return within !== part.negated
}

/** Where matching stands, after some components of a path: the places in the pattern that may come next. */
export type Progress = ReadonlySet<number>

/** The beginning of a match. */
export function beginMatch(pattern: PathPattern): Progress {
  return skipDepth(pattern, new Set([0]))
}

/** One component further. */
export function advance(pattern: PathPattern, progress: Progress, name: string, spend: Spend): Progress {
  if (progress.size === 0) return progress
  const next = new Set<number>()
  for (const at of progress) {
    const part = pattern[at]
    if (part === anyDepth) next.add(at)
    else if (part !== undefined && matchName(part, name, spend)) next.add(at + 1)
  }
  spend(progress.size)
  return skipDepth(pattern, next)
}

/** Whether the components so far are the whole of what the pattern names. */
export function isWhole(pattern: PathPattern, progress: Progress): boolean {
  return progress.has(pattern.length)
}

/** `**` may be no component at all. */
function skipDepth(pattern: PathPattern, progress: Set<number>): Progress {
  for (const at of progress) if (pattern[at] === anyDepth) progress.add(at + 1)
  return progress
}
