import { charsOf, Matcher, readIgnorePattern } from '@holt/glob'
import { HoltError } from '../errors/errors.ts'

/**
 * The rules of a .dockerignore. Paths are relative to the context, with slashes and no slash at the
 * end.
 */
export interface IgnoreFile {
  /**
   * Returns true if the rules exclude a path, by itself or by a directory above it, and no later
   * `!` includes it again.
   */
  readonly ignores: (path: string) => boolean
  /**
   * True if a rule may include a path below an excluded directory, so that such directories must be
   * read.
   */
  readonly hasExceptions: boolean
}

interface Rule {
  readonly matcher: Matcher
  /** True for a rule with `!`, which includes again. */
  readonly isException: boolean
}

/**
 * Reads a .dockerignore as Docker does (docs.docker.com/build/concepts/context, "Syntax"). Each
 * line has one pattern, relative to the context. `*`, `?`, `[a-z]` and `**` (any number of
 * directories) are wildcards. `!` marks exceptions, and `#` comments. The last line that matches
 * decides. `name` is for errors.
 */
export function parseIgnoreFile(text: string, name: string): IgnoreFile {
  const rules = text
    .replace(/^\ufeff/, '')
    .split('\n')
    .flatMap((line, index) => ruleOf(line, `${name}, line ${index + 1}`))
  return {
    hasExceptions: rules.some(({ isException }) => isException),
    ignores: (path) => {
      const chars = charsOf(path)
      // A rule that matches a directory above the path decides as well.
      const endsAt = (at: number) => at === chars.length || chars[at] === '/'
      let ignored = false
      for (const { matcher, isException } of rules) {
        if (isException === ignored && matcher.lengthIn(chars, { endsAt }) !== null) ignored = !isException
      }
      return ignored
    },
  }
}

function ruleOf(line: string, where: string): Rule[] {
  if (line.startsWith('#')) return []
  const text = line.trim()
  const isException = text.startsWith('!')
  const bare = (isException ? text.slice(1) : text).trim()
  if (bare === '') {
    if (!isException) return []
    throw badPattern(text, where)
  }
  const clean = cleaned(bare)
  const glob = readIgnorePattern(clean.length > 1 ? clean.replace(/^\//, '') : clean)
  if (glob === null) throw badPattern(text, where)
  return [{ matcher: new Matcher(glob), isException }]
}

/**
 * Returns a path without empty parts, `.`, and `..` after another part. Browsers have no
 * `node:path`.
 */
function cleaned(path: string): string {
  const isRooted = path.startsWith('/')
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else if (!isRooted) parts.push(part)
  }
  return `${isRooted ? '/' : ''}${parts.join('/')}` || '.'
}

function badPattern(text: string, where: string): HoltError {
  return new HoltError('invalid_request', `${where}: ${text} is not a pattern`, {
    hint: 'Patterns are those of a .dockerignore: *, ?, [a-z], ** and ! for exceptions. A backslash quotes the next character.',
  })
}
