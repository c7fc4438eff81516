import { type LineError, shown, wrong } from './line-error.ts'
import type { Escape } from './read-directives.ts'
import { readJsonForm, splitWords, takeFlags } from './split-words.ts'

/** A here-document: its operator and its text. */
export interface HeredocText {
  readonly name: string
  /** The text as in the file. With `<<-` it still has the tabs at the beginning of lines. */
  readonly raw: string
  /** The text without those tabs. */
  readonly content: string
  readonly expand: boolean
}

/** One instruction, with its continued lines joined. */
export interface LogicalLine {
  readonly line: number
  readonly endLine: number
  /** The keyword in capitals. */
  readonly keyword: string
  /** The text after the keyword, with flags. */
  readonly rest: string
  readonly heredocs: readonly HeredocText[]
  /** The instruction on one line, shortened. */
  readonly text: string
  /** The reason why the instruction cannot be read, or null. */
  readonly error: LineError | null
}

/** The instructions of a Dockerfile, with warnings. */
export interface LogicalLines {
  readonly lines: readonly LogicalLine[]
  readonly warnings: readonly string[]
}

const withHeredocs = /^(?:ONBUILD\s+)?(?:RUN|COPY|ADD)\s/iu
const comment = /^\s*#/u

/**
 * Divides a Dockerfile into instructions. The package `dockerfile-ast`, to which tests compare it,
 * differs from builders in three cases. They are a line that ends in two escapes, a here-document
 * operator with a number or quotes, and a lone carriage return. Two readings of one file would be a
 * way around refusals, so only this one decides. Lines after `maxLines` are not read. Source:
 * moby/buildkit, frontend/dockerfile/parser, `Parse`.
 */
export function readLines(text: string, escapeChar: Escape, maxLines: number = Number.POSITIVE_INFINITY): LogicalLines {
  const source = new Source(text)
  const lines: LogicalLine[] = []
  const warnings: string[] = []
  let warnedCrlf = false
  const tail = escapeChar === '\\' ? /(^|[^\\])\\[ \t]*$/ : /(^|[^`])`[ \t]*$/
  for (let first = source.next(); first !== null && lines.length < maxLines; first = source.next()) {
    const start = source.line
    if (comment.test(first)) continue
    const parts: string[] = []
    let emptyLine = false
    let piece: string | null = first.trimStart()
    while (piece !== null) {
      const continued = tail.test(piece)
      parts.push(continued ? piece.replace(tail, '$1') : piece)
      piece = null
      while (continued && piece === null) {
        const next = source.next()
        if (next === null) break
        if (comment.test(next)) continue
        if (next.trim() === '') emptyLine = true
        else piece = next
      }
    }
    const joined = parts.join('').trim()
    if (joined === '') continue
    if (emptyLine) warnings.push(`Line ${start}: the instruction continues after an empty line. Remove the empty line.`)
    const line = readHeredocs(joined, { source, escapeChar, start })
    lines.push(line)
    if (!warnedCrlf && hasWindowsLines(line)) warnings.push(windowsLines(line))
    warnedCrlf ||= hasWindowsLines(line)
  }
  return { lines, warnings }
}

/**
 * Returns true for a here-document of RUN with Windows line ends. BuildKit keeps the carriage
 * returns (moby/buildkit issue 4282), and so does Holt.
 */
function hasWindowsLines({ keyword, heredocs }: LogicalLine): boolean {
  return keyword === 'RUN' && heredocs.some(({ raw }) => raw.includes('\r\n'))
}

function windowsLines({ line }: LogicalLine): string {
  return `Line ${line}: the lines of the here-document end in CRLF, and the shell gets the carriage returns, as with BuildKit. If the step fails, save the Dockerfile with LF.`
}

function readHeredocs(
  joined: string,
  { source, escapeChar, start }: { readonly source: Source; readonly escapeChar: Escape; readonly start: number },
): LogicalLine {
  const keyword = /^\S+/u.exec(joined)?.[0] ?? ''
  const rest = joined.slice(keyword.length).trim()
  const heredocs: HeredocText[] = []
  let error: LineError | null = null
  if (joined.includes('<<') && withHeredocs.test(joined) && !isJsonForm(rest)) {
    for (const word of joinOperators(splitWords(joined, escapeChar))) {
      const operator = parseHeredoc(word)
      if (operator === null) continue
      const raw = source.until(operator)
      if (raw === null) {
        error = wrong(
          `The here-document <<${operator.name} has no end.`,
          `Add a line that contains only ${operator.name} after it. If you meant no here-document, quote the "<<".`,
        )
        break
      }
      // Only a line feed ends a line here, as in BuildKit. With the flag `m` a lone carriage return
      // would end one too.
      const content = operator.chomp ? raw.replace(/(^|\n)\t+/g, '$1') : raw
      heredocs.push({ name: operator.name, raw, content, expand: operator.expand })
    }
  }
  return {
    line: start,
    endLine: source.line,
    keyword: keyword.toUpperCase(),
    rest,
    heredocs,
    text: shown(joined),
    error,
  }
}

/** Joins an operator with its name, because white space may stand between them. */
function joinOperators(words: readonly string[]): string[] {
  const joined: string[] = []
  for (const word of words) {
    const before = joined.at(-1) ?? ''
    if (/^\d*<<-?$/.test(before)) joined.splice(-1, 1, before + word)
    else joined.push(word)
  }
  return joined
}

function isJsonForm(rest: string): boolean {
  return Array.isArray(readJsonForm(takeFlags(rest).rest))
}

/** The operator of a here-document: `<<NAME`, `<<-NAME`, `<<"NAME"`, `3<<NAME`. */
export interface HeredocOperator {
  readonly name: string
  readonly chomp: boolean
  readonly expand: boolean
}

/** Parses a word as the operator of a here-document. Returns null if it is none. */
export function parseHeredoc(word: string): HeredocOperator | null {
  const match = /^\d*<<(-?)\s*([^<\s][^<]*)$/u.exec(word)
  const given = match?.[2]?.trimEnd()
  if (given === undefined) return null
  const name = given.replace(quoted, (_, single, double, escaped) => single ?? double ?? escaped)
  // Unquoted white space ends the word: the line has more than the operator.
  if (name === '' || /["'\s]/u.test(given.replace(quoted, ''))) return null
  const expand = !/["']/.test(given.replace(/\\./gu, ''))
  return { name, chomp: match?.[1] === '-', expand }
}

const quoted = /'([^']*)'|"([^"]*)"|\\(.)/gu

/** The lines of a file, one after another. */
class Source {
  readonly #text: string
  #at: number
  line = 0

  constructor(text: string) {
    this.#text = text
    this.#at = text.startsWith('\uFEFF') ? 1 : 0
  }

  /** Returns the next line without its end, or null after the last one. */
  next(): string | null {
    const raw = this.#raw()
    return raw === null ? null : withoutEnd(raw)
  }

  /** Returns the text before the line that ends a here-document, or null if no line ends it. */
  until({ name, chomp }: HeredocOperator): string | null {
    const parts: string[] = []
    for (let raw = this.#raw(); raw !== null; raw = this.#raw()) {
      const line = withoutEnd(raw)
      if ((chomp ? line.replace(/^\t+/, '') : line) === name) return parts.join('')
      parts.push(raw)
    }
    return null
  }

  #raw(): string | null {
    if (this.#at >= this.#text.length) return null
    const end = this.#text.indexOf('\n', this.#at)
    const raw = this.#text.slice(this.#at, end === -1 ? undefined : end + 1)
    this.#at += raw.length
    this.line += 1
    return raw
  }
}

/** Removes line ends. A regular expression would be slow on a line of carriage returns only. */
function withoutEnd(raw: string): string {
  let end = raw.length
  while (end > 0 && (raw[end - 1] === '\n' || raw[end - 1] === '\r')) end -= 1
  return raw.slice(0, end)
}
