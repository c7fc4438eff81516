import { posix } from 'node:path'
import { HoltError } from '../errors.ts'

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
  readonly pattern: RegExp
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
      const names = path.split('/')
      const upTo = names.map((_, index) => names.slice(0, index + 1).join('/'))
      let ignored = false
      for (const { pattern, isException } of rules) {
        if (isException === ignored && upTo.some((one) => pattern.test(one))) ignored = !isException
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
  const clean = posix.normalize(bare).replace(/(?<=.)\/+$/, '')
  const source = translate(clean.length > 1 ? clean.replace(/^\//, '') : clean)
  if (source === null) throw badPattern(text, where)
  return [{ pattern: new RegExp(`^${source}$`, 'us'), isException }]
}

function badPattern(text: string, where: string): HoltError {
  return new HoltError('invalid_request', `${where}: ${text} is not a pattern`, {
    hint: 'Patterns are those of a .dockerignore: *, ?, [a-z], ** and ! for exceptions. A backslash quotes the next character.',
  })
}

/** Returns the regular expression of a pattern; null if the pattern is invalid. */
function translate(pattern: string): string | null {
  let source = ''
  for (let at = 0; at < pattern.length; ) {
    const part = partAt(pattern, at)
    if (part === null) return null
    source += part.source
    at += part.length
  }
  return source
}

interface Part {
  readonly source: string
  readonly length: number
}

function partAt(pattern: string, at: number): Part | null {
  const char = String.fromCodePoint(pattern.codePointAt(at) ?? 0)
  if (char === '*') return pattern[at + 1] === '*' ? anyDirectories(pattern, at) : { source: '[^/]*', length: 1 }
  if (char === '?') return { source: '[^/]', length: 1 }
  if (char === '[') return classAt(pattern, at)
  if (char !== '\\') return { source: literal(char), length: char.length }
  const quoted = pattern.codePointAt(at + 1)
  if (quoted === undefined) return null
  const text = String.fromCodePoint(quoted)
  return { source: literal(text), length: 1 + text.length }
}

/**
 * Returns the expression for `**`. At the end it matches anything. Before a name it matches any
 * number of directories, and includes the slash after it. Alone before a plain name it matches
 * anything, too.
 */
function anyDirectories(pattern: string, at: number): Part {
  const hasSlash = pattern[at + 2] === '/'
  const length = hasSlash ? 3 : 2
  if (at + length === pattern.length) return { source: '.*', length }
  const rest = pattern.slice(at + length)
  const isPlainEnd = at === 0 && !hasSlash && !/[*?[\]\\]/.test(rest)
  return { source: isPlainEnd ? '.*' : '(?:.*/)?', length }
}

/** Returns the expression for `[a-z]` or `[^a-z]`, with backslashes before special characters. */
function classAt(pattern: string, start: number): Part | null {
  const match = /^\[(\^?)((?:\\.|[^\]\\])+)\]/su.exec(pattern.slice(start))
  if (match === null) return null
  const items = [...(match[2] ?? '').matchAll(/(\\.|[^\\])(?:-(\\.|[^\\]))?/gsu)]
  const ranges: string[] = []
  for (const [, first = '', last] of items) {
    const from = unquoted(first)
    const to = last === undefined ? from : unquoted(last)
    if (from === '-' && last === undefined) return null
    if ((to.codePointAt(0) ?? 0) < (from.codePointAt(0) ?? 0)) return null
    ranges.push(`${codePoint(from)}-${codePoint(to)}`)
  }
  return { source: `[${match[1]}${ranges.join('')}]`, length: match[0].length }
}

const unquoted = (text: string) => (text.startsWith('\\') ? text.slice(1) : text)
const codePoint = (char: string) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`
const literal = (char: string) => (/^[\w/-]$/.test(char) ? char : codePoint(char))
