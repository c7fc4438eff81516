import { type PathPattern, readPathPattern } from '@holt/glob'
import { BuildError } from '../errors.ts'

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
  throw new BuildError('dockerfile_invalid', `${shown(text)}... is longer than ${MAX_LENGTH} characters.`, {
    hint: 'Name files by shorter paths or patterns, one word for each.',
  })
}

/** Reads the components of a pattern. Throws `BuildError` `dockerfile_invalid`. */
export function readPattern(components: readonly string[]): PathPattern {
  const pattern = readPathPattern(components)
  if (pattern !== null) return pattern
  throw new BuildError('dockerfile_invalid', `${shown(components.join('/'))} is not a valid pattern.`, {
    hint: 'Write a bracket that is part of a name as \\[.',
  })
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 200))
}
