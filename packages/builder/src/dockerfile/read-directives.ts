/** The character that escapes another one: `\`, or a backtick by `# escape=`. */
export type Escape = '\\' | '`'

/** The directives in the comments at the beginning of a Dockerfile. */
export interface Directives {
  readonly escapeChar: Escape
  /** The directives that cannot be followed. */
  readonly refused: readonly {
    readonly line: number
    readonly text: string
    readonly reason: string
    readonly fix: string
  }[]
}

const known = ['escape', 'syntax', 'check']
const frontend = /^(?:docker\.io\/)?docker\/dockerfile(?:-upstream)?(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/

/** Reads the directives, which end at the first line that is none. */
export function readDirectives(text: string): Directives {
  // A first line for the kernel is skipped, so that no directive hides behind it.
  const skipped = /^\uFEFF?#!/.test(text) ? text.indexOf('\n') + 1 : 0
  const firstLine = skipped === 0 ? 1 : 2
  const head = directivesOf(text.slice(skipped))
  const refused: { line: number; text: string; reason: string; fix: string }[] = []
  const seen = new Set<string>()
  let escapeChar: Escape = '\\'
  for (const [index, { name, value, text: line }] of head.entries()) {
    const refuse = (reason: string, fix: string) => refused.push({ line: index + firstLine, text: line, reason, fix })
    if (seen.has(name)) refuse(`There are two directives "${name}".`, 'Keep one of them.')
    seen.add(name)
    if (name === 'syntax' && !frontend.test(value)) {
      refuse(`The frontend ${value.slice(0, 100)} is a separate program, which Holt does not run.`, syntaxFix)
    }
    if (name === 'escape' && value === '`') escapeChar = '`'
    else if (name === 'escape' && value !== '\\') {
      refuse(`The escape ${value.slice(0, 20)} is neither \\ nor \`.`, 'Write `# escape=\\` or leave it out.')
    }
  }
  return { escapeChar, refused }
}

const syntaxFix = 'Remove the line, or write `# syntax=docker/dockerfile:1`.'

/** A line that is a directive: its name in lower case, its value and its text. */
interface Directive {
  readonly name: string
  readonly value: string
  readonly text: string
}

/**
 * Returns the directives before the first line that is none. Source: moby/buildkit,
 * frontend/dockerfile/parser, `DirectiveParser`.
 */
function directivesOf(text: string): readonly Directive[] {
  const directives: Directive[] = []
  for (let at = 0; at < text.length && directives.length < 100; ) {
    const end = text.indexOf('\n', at)
    const line = text.slice(at, end === -1 ? undefined : end).trim()
    const [, name = '', value = ''] = /^#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(\S.*)$/s.exec(line) ?? []
    if (!known.includes(name.toLowerCase())) break
    directives.push({ name: name.toLowerCase(), value, text: line })
    at = end === -1 ? text.length : end + 1
  }
  return directives
}
