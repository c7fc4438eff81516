import { DockerfileParser } from 'dockerfile-ast'

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
  const head = directiveLines(text.slice(skipped))
  const refused: { line: number; text: string; reason: string; fix: string }[] = []
  const seen = new Set<string>()
  let escapeChar: Escape = '\\'
  // The parser gets only lines that are directives, because it disagrees on the line that ends
  // them.
  const directives = head.length === 0 ? [] : DockerfileParser.parse(`${head.join('\n')}\n`).getDirectives()
  for (const [index, directive] of directives.entries()) {
    const name = directive.getName().toLowerCase()
    const value = (head[index] ?? '').replace(/^[^=]*=/, '').trim()
    const refuse = (reason: string, fix: string) =>
      refused.push({ line: index + firstLine, text: head[index] ?? '', reason, fix })
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

function directiveLines(text: string): string[] {
  const lines: string[] = []
  for (let at = 0; at < text.length && lines.length < 100; ) {
    const end = text.indexOf('\n', at)
    const line = text.slice(at, end === -1 ? undefined : end).trim()
    const name = /^#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*\S/.exec(line)?.[1]?.toLowerCase()
    if (name === undefined || !known.includes(name)) break
    lines.push(line)
    at = end === -1 ? text.length : end + 1
  }
  return lines
}
