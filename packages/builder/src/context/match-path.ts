import { BuildError } from '../errors.ts'

/** A pattern of one component of a path. */
interface NamePattern {
  readonly parts: readonly Part[]
  /**
   * The prefix and suffix of a pattern without a wildcard, or with one star. Null for any other
   * pattern.
   */
  readonly ends: { readonly prefix: string; readonly suffix: string; readonly isWhole: boolean } | null
}

type Part =
  | { readonly type: 'star' | 'any' }
  | { readonly type: 'char'; readonly char: string }
  | { readonly type: 'class'; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] }

/** The component that matches any number of components. */
const anyDepth = '**'

/** A pattern of a path, component by component. */
export type PathPattern = readonly (NamePattern | typeof anyDepth)[]

/** Returns true if a source is a pattern. */
export function hasWildcard(text: string): boolean {
  return /[*?[]/.test(text.replace(/\\./gs, ''))
}

/** Returns a component without its escapes. */
export function unescapeName(text: string): string {
  return text.replace(/\\(.)/gs, '$1')
}

/**
 * The maximum number of characters of a source or a pattern. No path is longer (PATH_MAX), and
 * matching one name against one pattern takes at most a million steps.
 */
const MAX_LENGTH = 4096

/**
 * Requires that a source or a pattern is no longer than a path can be. Throws `BuildError`
 * `dockerfile_invalid`.
 */
export function requirePathLength(text: string): void {
  if (text.length <= MAX_LENGTH) return
  throw new BuildError(
    'dockerfile_invalid',
    `${JSON.stringify(text.slice(0, 200))}... is longer than ${MAX_LENGTH} characters.`,
    {
      hint: 'Name files by shorter paths or patterns, one word for each.',
    },
  )
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
  return { parts, ends: endsOf(parts) }
}

function endsOf(parts: readonly Part[]): NamePattern['ends'] {
  const star = parts.findIndex(({ type }) => type === 'star')
  const textOf = (some: readonly Part[]) => some.map((part) => (part.type === 'char' ? part.char : '')).join('')
  if (parts.some(({ type }, at) => type !== 'char' && at !== star)) return null
  if (star === -1) return { prefix: textOf(parts), suffix: '', isWhole: true }
  return { prefix: textOf(parts.slice(0, star)), suffix: textOf(parts.slice(star + 1)), isWhole: false }
}

/** Reads a class such as `[a-z]` or `[^a-z]` up to its `]`. */
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
  throw new BuildError('dockerfile_invalid', `${JSON.stringify(text.slice(0, 200))} is not a valid pattern.`, {
    hint: 'Write a bracket that is part of a name as \\[.',
  })
}

/** Charges steps, and throws when none are left. */
export type Spend = (steps: number) => void

/** Returns the characters of a name. Without surrogate pairs they are its UTF-16 units. */
function charsOf(name: string): ArrayLike<string> {
  return /[\ud800-\udfff]/.test(name) ? [...name] : name
}

/**
 * Returns true if a name matches. Patterns without wildcards or with one star are compared at once.
 */
function fits({ parts, ends }: NamePattern, name: string, chars: ArrayLike<string>, spend: Spend): boolean {
  if (ends === null) return matchParts(parts, chars, spend)
  const { prefix, suffix, isWhole: all } = ends
  spend(1)
  if (all) return name === prefix
  return name.length >= prefix.length + suffix.length && name.startsWith(prefix) && name.endsWith(suffix)
}

/** Matches in at most as many steps as the product of the lengths of the name and the pattern. */
function matchParts(pattern: readonly Part[], chars: ArrayLike<string>, spend: Spend): boolean {
  let [part, at, steps] = [0, 0, 1]
  let [starPart, starAt] = [-1, -1]
  let goesOn = true
  while (goesOn && at < chars.length) {
    const here = pattern[part]
    steps += here?.type === 'class' ? 1 + here.ranges.length : 1
    if (here?.type === 'star') {
      starPart = part
      starAt = at
      part += 1
    } else if (here !== undefined && takes(here, chars[at] ?? '')) {
      part += 1
      at += 1
    } else if (starPart !== -1) {
      // The last star matches one more character. Earlier stars keep their matches.
      starAt += 1
      part = starPart + 1
      at = starAt
    } else goesOn = false
  }
  spend(steps)
  while (pattern[part]?.type === 'star') part += 1
  return goesOn && part === pattern.length
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

/**
 * The progress of a match after some components of a path: the places in the pattern that may come
 * next.
 */
export type Progress = ReadonlySet<number>

/** Returns the progress at the beginning of a match. */
export function beginMatch(pattern: PathPattern): Progress {
  return skipDepth(pattern, new Set([0]))
}

/** The progress of a match that failed. */
const nowhere: Progress = new Set()

/** Returns the progress one component further. */
export function advance(pattern: PathPattern, progress: Progress, name: string, spend: Spend): Progress {
  if (progress.size === 0) return progress
  const chars = charsOf(name)
  let next: Set<number> | null = null
  for (const at of progress) {
    const part = pattern[at]
    if (part === anyDepth) next = (next ?? new Set()).add(at)
    else if (part !== undefined && fits(part, name, chars, spend)) next = (next ?? new Set()).add(at + 1)
  }
  spend(progress.size)
  return next === null ? nowhere : skipDepth(pattern, next)
}

/** Returns true if the components so far match the whole pattern. */
export function isWhole(pattern: PathPattern, progress: Progress): boolean {
  return progress.has(pattern.length)
}

/** Adds the places after `**`, which may match no component at all. */
function skipDepth(pattern: PathPattern, progress: Set<number>): Progress {
  for (const at of progress) if (pattern[at] === anyDepth) progress.add(at + 1)
  return progress
}
