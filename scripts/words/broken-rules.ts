/** A place that breaks a rule. `line` counts from 1. */
export interface Broken {
  readonly line: number
  readonly rule: string
}

const maxColumns = 100
const maxWords = 25
/** An editor shows a description of this length without a scroll bar. */
const maxDescription = 360

/** Openings of a clause as the subject of a sentence, or of a comment without a subject. */
const bannedOpening = /^(?:What|Whatever|Who|Whoever|Whether|One that|Those that|That which|Where)\b(?!.*\?$)/

/** Further openings of a description, which do not name the field. */
const bannedDescription = /^(?:How (?:many|much|often|long)|Is|Are|Of|The same)\b/

/** The longest name of a test, without the values of expressions. */
const maxName = 120

/** Openings and idioms that a newcomer does not understand in a name of a test. */
const bannedName =
  /^(?:what|whatever|who|whoever|whether|where)\b|\b(?:whoever|anew|under way|goe?s? on|let go of|is none|are none)\b/i

/** Matches a file that has descriptions of fields. Tests describe none. */
const hasDescriptions = /^(?!e2e\/)(?!packages\/[^/]+\/test\/).*\.ts$/

/** Returns the places of a file that break a rule, in order. */
export function brokenRules(file: string, text: string): readonly Broken[] {
  if (file.endsWith('.md')) return inPage(text)
  if (file.endsWith('.py')) return inPython(text)
  const names = file.endsWith('.test.ts') ? [...namesOf(text).flatMap(inName), ...labelsOf(text).flatMap(inLabel)] : []
  const descriptions = hasDescriptions.test(file) ? descriptionsOf(file, text).flatMap(inDescription) : []
  return [...inComments(text), ...descriptions, ...names].toSorted((a, b) => a.line - b.line)
}

/** A paragraph, list item or comment, and the line on which it begins. */
interface Block {
  readonly line: number
  readonly text: string
}

function inPage(text: string): readonly Broken[] {
  const lines = withoutCode(text).split('\n')
  const wide = lines.flatMap((line, at) =>
    columns(line) > maxColumns && !/^\s*\||https?:/.test(line) ? [{ line: at + 1, rule: tooWide(line) }] : [],
  )
  return [...wide, ...proseOf(lines).flatMap(inProse)].toSorted((a, b) => a.line - b.line)
}

/** Matches a line of a comment, and not the name of a generator method (`*#names`). */
const isComment = /^\s*(?:\/\/|\/\*|\*(?![#\w]))/

function inComments(text: string): readonly Broken[] {
  const lines = text.split('\n')
  const wide = lines.flatMap((line, at) =>
    isComment.test(line) && columns(line) > maxColumns && !/https?:/.test(line)
      ? [{ line: at + 1, rule: tooWide(line) }]
      : [],
  )
  const functions = textsOf(text, functionComment).map(({ line, text }) => ({
    line,
    rule: `"${openingOf(text)}" opens the comment of a function, and "Returns true" should`,
  }))
  return [...wide, ...commentsOf(lines).flatMap(inProse), ...functions]
}

/** Matches a docstring of a function that begins with "True". */
const functionComment = /\/\*\*(\s*(?:\* )?)(True\b(?:(?!\*\/)[\s\S])*)\*\/\s*\n\s*(?:export )?(?:async )?function\b/g

function inDescription({ line, text }: Block): readonly Broken[] {
  const rules = [
    ...(text.length > maxDescription ? [`a description of ${text.length} characters`] : []),
    ...(bannedDescription.test(text) ? [`"${openingOf(text)}" opens a description`] : []),
    ...(/[.:]$/.test(text) ? [] : [`a description without a full stop: ${openingOf(text)}`]),
  ]
  return [...rules.map((rule) => ({ line, rule })), ...inProse({ line, text })]
}

function inName({ line, text }: Block): readonly Broken[] {
  const idiom = bannedName.exec(text)?.[0]
  return [
    ...(text.length > maxName ? [{ line, rule: `a name of ${text.length} characters: ${openingOf(text)}` }] : []),
    ...(idiom === undefined ? [] : [{ line, rule: `"${idiom}" in the name of a test: ${openingOf(text)}` }]),
  ]
}

function inLabel({ line, text }: Block): readonly Broken[] {
  const idiom = bannedName.exec(text)?.[0]
  return idiom === undefined ? [] : [{ line, rule: `"${idiom}" in the label of a case: ${openingOf(text)}` }]
}

/** Checks docstrings and comments of Python. A docstring begins a line with three quotes. */
function inPython(text: string): readonly Broken[] {
  const broken: Broken[] = []
  let inside: 'docstring' | 'text' | null = null
  let wasComment = false
  for (const [at, line] of text.split('\n').entries()) {
    const opens: boolean = inside === null && /^\s*[rR]?"""/.test(line)
    const isRemark = inside === null && /^\s*#/.test(line)
    if ((inside === 'docstring' || opens || isRemark) && columns(line) > maxColumns && !/https?:/.test(line))
      broken.push({ line: at + 1, rule: tooWide(line) })
    const words = line.replace(/^\s*(?:[rR]?"""|#)\s*/, '')
    if ((opens || (isRemark && !wasComment)) && bannedOpening.test(words))
      broken.push({ line: at + 1, rule: `"${openingOf(words)}" opens a comment` })
    const isTurn = line.split('"""').length % 2 === 0
    if (isTurn) inside = inside !== null ? null : opens ? 'docstring' : 'text'
    wasComment = isRemark
  }
  return broken
}

function inProse({ line, text }: Block): readonly Broken[] {
  return sentencesOf(text).flatMap((sentence) => {
    const words = sentence.split(' ').length
    return [
      ...(words > maxWords ? [{ line, rule: `a sentence of ${words} words: ${openingOf(sentence)}` }] : []),
      ...(bannedOpening.test(sentence) ? [{ line, rule: `"${openingOf(sentence)}" opens a sentence` }] : []),
    ]
  })
}

/** Returns the page with empty lines in place of code blocks, measurements and HTML comments. */
function withoutCode(page: string): string {
  return page.replace(
    /<!-- (bench\S*):begin -->[\s\S]*?<!-- \1:end -->|^ *```[\s\S]*?^ *```$|<!--[\s\S]*?-->/gm,
    (code) => code.replace(/[^\n]/g, ''),
  )
}

/** Returns paragraphs and list items, without headings and tables. */
function proseOf(lines: readonly string[]): readonly Block[] {
  const blocks: { line: number; text: string }[] = []
  let open = false
  for (const [at, line] of lines.entries()) {
    const text = line.trim()
    if (text === '' || /^[#|]/.test(text)) {
      open = false
      continue
    }
    const item = /^(?:[-*+]|\d+\.) +(.*)$/.exec(text)
    const last = blocks.at(-1)
    if (item !== null) blocks.push({ line: at + 1, text: item[1] ?? '' })
    else if (open && last !== undefined) last.text += ` ${text}`
    else blocks.push({ line: at + 1, text })
    open = true
  }
  return blocks
}

/** Returns the sentences of a block. Inline code and the target of a link count as one word. */
function sentencesOf(text: string): readonly string[] {
  return text
    .replace(/`[^`]*`/g, (code) => code.replace(/\s/g, '\u00a0').replace(/[.!?:]/g, '\u00b7'))
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/\*\*/g, '')
    .split(/(?<=[.!?:][)"'\]]*) +(?=\S)/)
    .map((sentence) => sentence.replace(/ +/g, ' ').trim())
    .filter((sentence) => sentence !== '')
}

/** Returns the paragraphs and list items of comments, without directives of tools. */
function commentsOf(lines: readonly string[]): readonly Block[] {
  const blocks: { line: number; text: string }[] = []
  let open: { text: string } | null = null
  for (const [at, line] of lines.entries()) {
    const [, mark = '', rest = ''] = isComment.test(line) ? (/^\s*(\/\*\*?|\/\/|\*)(.*)$/.exec(line) ?? []) : []
    const text = rest.replace(/\*\/\s*$/, '').trim()
    const item = /^(?:[-*]|\d+\.) +(.*)$/.exec(text)?.[1]
    if (mark.startsWith('/*') || text === '' || item !== undefined) open = null
    if (text === '' || isDirective.test(text)) continue
    if (open !== null) open.text += ` ${text}`
    else {
      const block = { line: at + 1, text: item ?? text }
      blocks.push(block)
      open = block
    }
  }
  return blocks
}

/** Matches a comment that is for a tool, or an example of code. */
const isDirective = /^(?:biome-|@|go:|\/|#|=|\|)/

/**
 * Returns the texts of `describe` calls of schemas, and the descriptions of routes. A call that is
 * not of a schema has no text.
 */
function descriptionsOf(file: string, source: string): readonly Block[] {
  const calls = textsOf(source, /\.describe\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs)
  if (!file.includes('/routes/')) return calls
  return [...calls, ...textsOf(source, /^ +description:\s*(['"`])((?:\\.|(?!\1).)*)\1/gms)]
}

/**
 * Returns the names of tests and of their groups, also those behind a table. Expressions in a name
 * count as nothing.
 */
function namesOf(source: string): readonly Block[] {
  const name =
    /^[ \t]*(?:(?:describe|test|it)\b(?:\.\w+)*(?:\([^'"`]*?\))?|[^\n'"`]*\]\))\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gms
  return textsOf(source, name)
}

/** Returns the labels of the cases in tables: the first text of a row, or its `name`. */
function labelsOf(source: string): readonly Block[] {
  return textsOf(source, /^[ \t]*(?:\[|\{ name: )\s*(['"`])((?:\\.|(?!\1).)* (?:\\.|(?!\1).)*)\1/gms)
}

/** Returns the second groups of all matches. */
function textsOf(source: string, pattern: RegExp): readonly Block[] {
  return [...source.matchAll(pattern)].map(({ index, 2: text = '' }) => ({
    line: source.slice(0, index).split('\n').length,
    text: text.replace(/\$\{[^}]*\}/g, '').replace(/\\(.)/g, '$1'),
  }))
}

function columns(line: string): number {
  return line.replaceAll('\t', '    ').length
}

function tooWide(line: string): string {
  return `${columns(line)} columns, and at most ${maxColumns} are allowed`
}

function openingOf(text: string): string {
  return text.split(' ').slice(0, 4).join(' ')
}
