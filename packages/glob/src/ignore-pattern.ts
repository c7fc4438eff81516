import { codeOf, type Glob, type GlobPart } from './glob.ts'
import { readChar } from './read-char.ts'

/**
 * Reads a pattern of a .dockerignore, relative to the context and without a slash at its ends.
 * `*`, `?` and `[a-z]` match within a name, and `**` any number of directories. Returns null if it
 * is malformed. Source: moby/patternmatcher, `Pattern.compile`.
 */
export function readIgnorePattern(text: string): Glob | null {
  const chars = [...text]
  const parts: GlobPart[] = []
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? ''
    if (char === '*' && chars[at + 1] === '*') {
      const end = chars[at + 2] === '/' ? at + 3 : at + 2
      parts.push(anyFolders(chars, at, end))
      at = end - 1
    } else if (char === '*') parts.push({ type: 'star', except: '/' })
    else if (char === '?') parts.push({ type: 'any', except: '/' })
    else {
      const read = readChar(chars, at)
      if (read === null || hasEmptyRange(read.part)) return null
      parts.push(read.part)
      at = read.end
    }
  }
  return parts
}

/** Returns true for a class such as `[z-a]`, which Docker refuses. */
function hasEmptyRange(part: GlobPart): boolean {
  return part.type === 'class' && part.ranges.some(([low, high]) => codeOf(low) > codeOf(high))
}

/**
 * Returns the part for `**`. At the end it matches anything. Before a name it matches any number of
 * directories, and includes the slash after it. Alone before a plain name it matches anything, too.
 */
function anyFolders(chars: readonly string[], start: number, end: number): GlobPart {
  const isPlainEnd = start === 0 && end === 2 && !/[*?[\]\\]/.test(chars.slice(end).join(''))
  return end === chars.length || isPlainEnd ? { type: 'star', except: '' } : { type: 'folders' }
}
