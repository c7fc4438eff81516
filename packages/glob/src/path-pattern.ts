import { charsOf, type Glob, type GlobPart, type Spend } from './glob.ts'
import { Matcher } from './matcher.ts'
import { readChar } from './read-char.ts'

// The patterns of COPY, ADD and their --exclude. A path is matched component by component, so a
// walk of a tree matches each name once.

/** A pattern of one component of a path. */
interface NamePattern {
  readonly matcher: Matcher
  /**
   * The prefix and suffix of a pattern without a wildcard, or with one star. Null for any other
   * pattern.
   */
  readonly ends: { readonly prefix: string; readonly suffix: string; readonly isWhole: boolean } | null
}

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
 * Reads a pattern as Go's `path.Match` does, with `**` for any number of components. Returns null
 * if it is malformed.
 */
export function readPathPattern(components: readonly string[]): PathPattern | null {
  const pattern: (NamePattern | typeof anyDepth)[] = []
  for (const text of components) {
    const read = text === anyDepth ? anyDepth : readNamePattern(text)
    if (read === null) return null
    pattern.push(read)
  }
  return pattern
}

function readNamePattern(text: string): NamePattern | null {
  const chars = [...text]
  const parts: GlobPart[] = []
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? ''
    if (char === '*') {
      if (parts.at(-1)?.type !== 'star') parts.push({ type: 'star', except: '' })
    } else if (char === '?') parts.push({ type: 'any', except: '' })
    else {
      const read = readChar(chars, at)
      if (read === null) return null
      parts.push(read.part)
      at = read.end
    }
  }
  return { matcher: new Matcher(parts), ends: endsOf(parts) }
}

function endsOf(parts: Glob): NamePattern['ends'] {
  const star = parts.findIndex(({ type }) => type === 'star')
  const textOf = (some: Glob) => some.map((part) => (part.type === 'char' ? part.char : '')).join('')
  if (parts.some(({ type }, at) => type !== 'char' && at !== star)) return null
  if (star === -1) return { prefix: textOf(parts), suffix: '', isWhole: true }
  return { prefix: textOf(parts.slice(0, star)), suffix: textOf(parts.slice(star + 1)), isWhole: false }
}

/**
 * Returns true if a name matches. Patterns without wildcards or with one star are compared at once.
 */
function fits({ matcher, ends }: NamePattern, name: string, chars: ArrayLike<string>, spend: Spend): boolean {
  if (ends === null) return matcher.matches(chars, spend)
  const { prefix, suffix, isWhole: all } = ends
  spend(1)
  if (all) return name === prefix
  return name.length >= prefix.length + suffix.length && name.startsWith(prefix) && name.endsWith(suffix)
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
