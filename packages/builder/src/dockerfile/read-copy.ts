import { gitRefusal, isAddress, isGitSource } from './git-source.ts'
import { shown, unsupported, wrong } from './line-error.ts'
import { isMode, modeHint } from './mode.ts'
import type { CopyInstruction, CopySource, Heredoc } from './plan.ts'
import { type LogicalLine, parseHeredoc } from './read-lines.ts'
import { boolean, type FindSource } from './read-mount.ts'
import { needed } from './read-run.ts'
import { type Flag, readJsonForm, splitPlain, takeFlags } from './split-words.ts'

/** The maximum number of sources of one COPY. */
const MAX_SOURCES = 1000

/** The maximum number of `--exclude` patterns of one COPY. */
const MAX_EXCLUDES = 100

interface Options {
  from: CopySource
  chown: string | null
  chmod: string | null
  checksum: string | null
  parents: boolean
  exclude: string[]
  unpack: boolean | null
}

/** Reads COPY and ADD. Source: docs.docker.com, Dockerfile reference, "COPY" and "ADD". */
export function readCopy(line: LogicalLine, find: FindSource): CopyInstruction {
  const { keyword } = line
  const add = keyword === 'ADD'
  const { flags, rest } = takeFlags(line.rest)
  const options = readFlags(flags, { keyword, find })
  const words = readWords(rest, keyword)
  const destination = words.at(-1) ?? ''
  const given = words.slice(0, -1)
  if (given.length === 0) throw wrong(`${keyword} needs a source and a destination.`)
  if (given.length > MAX_SOURCES) throw wrong(`${keyword} has more than ${MAX_SOURCES} sources.`)
  if (destination === '') throw wrong(`${keyword} has an empty destination.`)
  if (parseHeredoc(destination) !== null) throw wrong(`${keyword} has a here-document as its destination.`)
  const { sources, heredocs } = divideSources(given, line)
  checkSources(sources, { add, options })
  if (given.length > 1 && !destination.includes('$') && !/(?:^|\/)\.{0,2}["']?$/.test(destination)) {
    throw wrong(`${keyword} has several sources, so ${shown(destination)} must be a directory.`, 'End it with "/".')
  }
  return { type: 'copy', add, ...options, sources, heredocs, destination }
}

function readWords(rest: string, keyword: string): readonly string[] {
  const json = readJsonForm(rest)
  if (json === 'mixed') throw wrong(`${keyword} in the JSON form takes strings only.`)
  return json ?? splitPlain(rest)
}

function divideSources(given: readonly string[], line: LogicalLine): { sources: string[]; heredocs: Heredoc[] } {
  const sources: string[] = []
  const heredocs: Heredoc[] = []
  const texts = line.heredocs.values()
  for (const word of given) {
    const operator = line.heredocs.length === 0 ? null : parseHeredoc(word)
    if (operator === null) sources.push(word)
    else {
      const text = texts.next().value
      if (text?.name !== operator.name)
        throw wrong(`The name of a here-document cannot contain a space: ${shown(word)}.`)
      if (/[/\0]|^\.{1,2}$/.test(text.name)) throw wrong(`<<${text.name} is not a file name.`)
      heredocs.push({ name: text.name, content: text.content, expand: text.expand })
    }
  }
  if (texts.next().done !== true)
    throw wrong(`The name of a here-document cannot contain a space: ${shown(line.rest)}.`)
  return { sources, heredocs }
}

function readFlags(
  flags: readonly Flag[],
  { keyword, find }: { readonly keyword: string; readonly find: FindSource },
): Options {
  const options: Options = {
    from: { type: 'context' },
    chown: null,
    chmod: null,
    checksum: null,
    parents: false,
    exclude: [],
    unpack: null,
  }
  const seen = new Set<string>()
  for (const { name, value } of flags) {
    if (seen.has(name) && name !== 'exclude') throw wrong(`${keyword} has --${name} twice.`)
    seen.add(name)
    readFlag(options, { name, value, keyword, find })
  }
  if (options.exclude.length > MAX_EXCLUDES) throw wrong(`${keyword} has more than ${MAX_EXCLUDES} --exclude.`)
  return options
}

function readFlag(
  options: Options,
  { name, value, keyword, find }: Flag & { readonly keyword: string; readonly find: FindSource },
): void {
  const add = keyword === 'ADD'
  if (name === 'chown') options.chown = needed(name, value)
  else if (name === 'chmod') options.chmod = readMode(needed(name, value))
  else if (name === 'exclude') options.exclude.push(needed(name, value))
  else if (name === 'link') boolean(name, value ?? 'true')
  else if (name === 'from' && !add) options.from = find(needed(name, value))
  else if (name === 'parents' && !add) options.parents = boolean(name, value ?? 'true')
  else if (name === 'unpack' && add) options.unpack = boolean(name, value ?? 'true')
  else if (name === 'checksum' && add) options.checksum = readChecksum(needed(name, value))
  else if (name === 'keep-git-dir' && add) throw unsupported(gitRefusal.message, gitRefusal.fix)
  else {
    const flags = add
      ? '--chown, --chmod, --checksum, --unpack, --exclude and --link'
      : '--from, --chown, --chmod, --parents, --exclude and --link'
    throw unsupported(`${keyword} has no flag --${name}.`, `The flags are ${flags}.`)
  }
}

function readMode(value: string): string {
  if (value.includes('$') || isMode(value)) return value
  throw wrong(`"${shown(value, 40)}" is neither an octal nor a symbolic mode.`, modeHint)
}

function readChecksum(value: string): string {
  if (value.includes('$') || /^sha256:[0-9a-f]{64}$/.test(value)) return value
  throw wrong('--checksum is not a SHA-256 digest.', 'Write it like --checksum=sha256:24454f83....')
}

function checkSources(
  sources: readonly string[],
  { add, options }: { readonly add: boolean; readonly options: Options },
): void {
  for (const source of sources) {
    if (source === '') throw wrong(`${add ? 'ADD' : 'COPY'} has an empty source.`)
    if (isGitSource(source)) {
      if (add) throw unsupported(gitRefusal.message, gitRefusal.fix)
      throw wrong(`COPY cannot fetch a URL: ${shown(source)}.`)
    }
    if (!add && isAddress(source)) throw wrong(`COPY cannot fetch a URL: ${shown(source)}.`, 'Use ADD.')
  }
  if (options.checksum === null) return
  const [only, ...more] = sources
  if (only === undefined || more.length > 0 || !(isAddress(only) || only.includes('$'))) {
    throw wrong('--checksum needs exactly one source, and it must be a URL.')
  }
}
