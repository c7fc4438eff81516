import type { CheckedLine } from '@holt/protocol'
import { BuildError } from '../errors.ts'
import type { Platform } from '../image/platform.ts'
import { type ExpandOptions, expandWord, type Lookup } from './expand-word.ts'
import { ignoredInstructions } from './ignored-instructions.ts'
import { LineError, shown, wrong } from './line-error.ts'
import type { CopySource, Instruction, Stage } from './plan.ts'
import { platformArgs, predefinedBuildArgs } from './platform-args.ts'
import { type Directives, type Escape, readDirectives } from './read-directives.ts'
import { type From, outsideOf, readFrom } from './read-from.ts'
import { readInstruction } from './read-instruction.ts'
import { type LogicalLine, readLines } from './read-lines.ts'
import { readArgs } from './read-settings.ts'
import { takeFlags } from './split-words.ts'
import { variableSize, WordAccount, type WordsSpent } from './word-account.ts'

/** Options for reading a Dockerfile. */
export interface ReadOptions {
  readonly target: string | null
  readonly buildArgs: Readonly<Record<string, string>>
  readonly platform: Platform
  /** The account for the words of the file. Default: a new one. */
  readonly account?: WordAccount | undefined
}

/** The reason for a refused line: it is wrong, or not supported. */
type RefusedKind = LineError['kind']

/**
 * A Dockerfile, read as far as possible. Each line has its verdict, even if the file cannot be
 * built.
 */
export interface Reading {
  readonly escapeChar: Escape
  readonly stages: readonly Stage[]
  readonly lines: readonly CheckedLine[]
  /** The refused lines with the reason. */
  readonly refused: ReadonlyMap<CheckedLine, RefusedKind>
  readonly warnings: readonly string[]
  readonly globalArgs: Readonly<Record<string, string>>
  /** Build arguments that no ARG declares. */
  readonly unusedArgs: readonly string[]
  /** The work that the words of the file charged. */
  readonly spent: WordsSpent
  /** True if the account was exhausted before the end of the file. */
  readonly isPartial: boolean
}

const MAX_INSTRUCTIONS = 5000
const MAX_STAGES = 200
const MAX_WARNINGS = 100

/**
 * Reads a whole Dockerfile, or up to the line that exhausts its account. Never throws for the
 * content of the file.
 */
export function readDockerfile(text: string, options: ReadOptions): Reading {
  const directives = readDirectives(text)
  const { lines, warnings } = readLines(text, directives.escapeChar, MAX_INSTRUCTIONS + 1)
  const reader = new Reader(options, directives)
  for (const line of lines.slice(0, MAX_INSTRUCTIONS)) reader.readFirst(line)
  for (const line of lines.slice(0, MAX_INSTRUCTIONS)) {
    reader.read(line)
    if (reader.stoppedAt === line) return reader.finish(warnings)
  }
  const beyond = lines[MAX_INSTRUCTIONS]
  if (beyond !== undefined) reader.refuse(beyond, wrong(`The file has more than ${MAX_INSTRUCTIONS} instructions.`))
  return reader.finish(warnings)
}

interface OpenStage extends Stage {
  readonly instructions: Instruction[]
}

/** The state of a reading. FROM is read in a first pass, because `--from` may name any stage. */
class Reader {
  readonly #options: ReadOptions
  readonly #directives: Directives
  readonly #args: Map<string, string>
  readonly #froms = new Map<LogicalLine, From | LineError>()
  readonly #failedArgs = new Map<LogicalLine, LineError>()
  readonly #numbers = new Map<string, number>()
  readonly #stages: OpenStage[] = []
  readonly #lines: CheckedLine[] = []
  readonly #refused = new Map<CheckedLine, RefusedKind>()
  readonly #warnings: string[] = []
  readonly #declared = new Set<string>(predefinedBuildArgs)
  readonly #account: WordAccount
  #argsSize = 0
  #stoppedAt: LogicalLine | null = null

  constructor(options: ReadOptions, directives: Directives) {
    this.#options = options
    this.#directives = directives
    this.#account = options.account ?? new WordAccount()
    this.#args = new Map(platformArgs(options.platform, options.target))
    for (const [name] of this.#args) this.#declare(name)
    for (const { line, text, reason, fix } of directives.refused) {
      this.#add(
        { line, endLine: line, keyword: text.replace(/=.*$/s, '').trim(), text },
        { verdict: 'refused', reason, fix },
        'unsupported',
      )
    }
  }

  /** The line that exhausted the account, or null. Later lines are not read. */
  get stoppedAt(): LogicalLine | null {
    return this.#stoppedAt
  }

  /** Reads the arguments before the first FROM, and every FROM, in a first pass. */
  readFirst(line: LogicalLine): void {
    if (line.keyword === 'ARG' && this.#froms.size === 0 && !this.#account.isSpent) this.#globalArgs(line)
    if (line.keyword === 'FROM') this.#froms.set(line, this.#account.isSpent ? notRead : this.#readFrom(line))
    if (this.#account.isSpent) this.#stoppedAt ??= line
  }

  /** Gives every line its verdict, in a second pass. */
  read(line: LogicalLine): void {
    try {
      if (line.error !== null) throw line.error
      const ignored = Object.hasOwn(ignoredInstructions, line.keyword) ? ignoredInstructions[line.keyword] : undefined
      if (line.keyword === 'FROM') this.#beginStage(line)
      else if (ignored === undefined) this.#readInstruction(line)
      if (ignored === undefined) this.#add(line, { verdict: 'supported', reason: null, fix: null })
      else this.#add(line, { verdict: 'ignored', ...ignored })
    } catch (error) {
      this.refuse(line, toLineError(error))
    }
  }

  refuse(line: LogicalLine, error: LineError): void {
    this.#add(line, { verdict: 'refused', reason: error.message, fix: error.fix }, error.kind)
  }

  finish(warnings: readonly string[]): Reading {
    if (this.#froms.size === 0) {
      const line = { line: 1, endLine: 1, keyword: 'FROM', text: '' }
      const reason = 'The file has no FROM, so it has no base image.'
      this.#add(line, { verdict: 'refused', reason, fix: 'Begin with a line like FROM debian:13.' }, 'invalid')
    }
    const unusedArgs =
      this.#stoppedAt === null ? Object.keys(this.#options.buildArgs).filter((name) => !this.#declared.has(name)) : []
    return {
      escapeChar: this.#directives.escapeChar,
      stages: this.#stages,
      lines: this.#lines,
      refused: this.#refused,
      warnings: [...warnings, ...this.#warnings].slice(0, MAX_WARNINGS),
      unusedArgs,
      isPartial: this.#stoppedAt !== null,
      spent: this.#account.spent,
      globalArgs: Object.setPrototypeOf(Object.fromEntries(this.#args), null) as Record<string, string>,
    }
  }

  #globalArgs(line: LogicalLine): void {
    try {
      for (const { name, default: word } of readArgs(line.rest, this.#directives.escapeChar).args) {
        this.#declare(name)
        if (Object.hasOwn(this.#options.buildArgs, name)) continue
        if (word !== null) this.#set(name, expandWord(word, this.#lookup, this.#words))
      }
    } catch (error) {
      this.#failedArgs.set(line, toLineError(error))
    }
  }

  /** Declares a build argument, which is set from its declaration on. */
  #declare(name: string): void {
    this.#declared.add(name)
    const { buildArgs } = this.#options
    if (Object.hasOwn(buildArgs, name)) this.#set(name, buildArgs[name] ?? '')
  }

  #set(name: string, value: string): void {
    const before = this.#args.get(name)
    this.#argsSize += variableSize(name, value) - (before === undefined ? 0 : variableSize(name, before))
    this.#account.hold(this.#argsSize)
    this.#args.set(name, value)
  }

  get #words(): ExpandOptions {
    return { escapeChar: this.#directives.escapeChar, account: this.#account }
  }

  readonly #lookup: Lookup = (name) => this.#args.get(name)

  #readFrom(line: LogicalLine): From | LineError {
    const number = this.#froms.size
    try {
      const from = readFrom(line.rest, {
        lookup: this.#lookup,
        words: this.#words,
        platform: this.#options.platform,
        findStage: (name) => this.#numbers.get(name),
      })
      if (from.name !== null && this.#numbers.has(from.name)) {
        this.#warnings.push(
          `Line ${line.line}: an earlier stage is also named ${from.name}. From here on, the name means this stage.`,
        )
      }
      if (from.name !== null) this.#numbers.set(from.name, number)
      return from
    } catch (error) {
      return toLineError(error)
    }
  }

  #beginStage(line: LogicalLine): void {
    const from = this.#froms.get(line)
    const index = this.#stages.length
    if (index >= MAX_STAGES) throw wrong(`The file has more than ${MAX_STAGES} stages.`)
    const failed = from === undefined || from instanceof LineError
    // The stage begins anyway, so that later stages have the right numbers.
    const base = failed ? ({ type: 'scratch' } as const) : from.base
    this.#stages.push({ index, name: failed ? null : from.name, base, line: line.line, instructions: [] })
    if (from instanceof LineError) throw from
  }

  #readInstruction(line: LogicalLine): void {
    const failed = this.#failedArgs.get(line)
    if (failed !== undefined) throw failed
    const stage = this.#stages.at(-1)
    const { escapeChar } = this.#directives
    if (stage === undefined && line.keyword !== 'ARG') {
      throw wrong(`${shown(line.keyword, 40)} is before the first FROM.`, 'Only ARG may come before it.')
    }
    const instruction = readInstruction(line, { escapeChar, find: (name) => this.#find(name) })
    if (instruction.type === 'arg') {
      for (const { name } of instruction.args) this.#declared.add(name)
    }
    if (instruction.type === 'copy' && takeFlags(line.rest).flags.some(({ name }) => name === 'link')) {
      this.#warnings.push(
        `Line ${line.line}: --link is treated as an ordinary ${line.keyword}. The result is the same.`,
      )
    }
    stage?.instructions.push(instruction)
  }

  /** Returns the source that `--from` names: a stage by number or name, a template or an image. */
  #find(name: string): CopySource {
    if (name.includes('$')) {
      throw wrong(
        `"${shown(name, 80)}" has a variable, which is not allowed here.`,
        `Name the stage first: FROM ${shown(name, 80)} AS source. Then use from=source.`,
      )
    }
    const index = /^\d{1,9}$/.test(name) ? Number(name) : this.#numbers.get(name.toLowerCase())
    if (index === undefined) {
      if (name === 'scratch') throw wrong('scratch is empty, so there is nothing to copy.')
      return outsideOf(name)
    }
    if (index >= this.#froms.size) throw wrong(`There is no stage ${index}. Stages are counted from 0.`)
    return { type: 'stage', index }
  }

  #add(
    { line, endLine, keyword, text }: Pick<LogicalLine, 'line' | 'endLine' | 'keyword' | 'text'>,
    verdict: Pick<CheckedLine, 'verdict' | 'reason' | 'fix'>,
    kind: RefusedKind | null = null,
  ): void {
    const checked: CheckedLine = {
      line,
      end_line: endLine,
      instruction: shown(keyword, 40),
      text: shown(text),
      ...verdict,
    }
    if (text === '') this.#lines.unshift(checked)
    else this.#lines.push(checked)
    if (kind !== null) this.#refused.set(checked, kind)
  }
}

/**
 * The verdict on FROM after the line that exhausted the account. It counts as a stage and is not
 * read.
 */
const notRead = wrong('The rest of the file was not read.')

function toLineError(error: unknown): LineError {
  if (error instanceof LineError) return error
  if (error instanceof BuildError) return wrong(error.message, error.hint)
  throw error
}
