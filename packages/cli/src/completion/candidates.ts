import type { Argument, Command, Option } from 'commander'
import { isPlainWord } from '../shell/shell-word.ts'

/** One candidate at the cursor. */
export interface Candidate {
  readonly value: string
  readonly about: string
}

/** Candidates that only the service knows, by the name of their argument or option. */
export type Sources = Readonly<Record<string, (operands: readonly string[]) => Promise<readonly Candidate[]>>>

/** The candidates at the cursor. They may include local files. */
export interface Completion {
  readonly candidates: readonly Candidate[]
  readonly files: boolean
}

/** Arguments that can be files of this machine. */
const namesOfFiles: readonly string[] = ['source', 'destination', 'directory']

const nothing: Completion = { candidates: [], files: false }

/** Completes the last of `words`, the words after the program's name. The last one may be empty. */
export async function complete(program: Command, words: readonly string[], sources: Sources): Promise<Completion> {
  const current = words.at(-1) ?? ''
  const position = readWords(program, words.slice(0, -1))
  if (position === null) return nothing
  const { command, operands, option } = position
  const found =
    option !== null ? await ofOption(option, operands, sources) : await ofPosition(command, operands, current, sources)
  return {
    ...found,
    candidates: found.candidates.filter(({ value }) => value.startsWith(current) && mayBeTyped(value)),
  }
}

/**
 * Returns true if a candidate may be offered. One press of Enter runs the line, so a name that a
 * shell would interpret is not offered, regardless of its origin. Our own options begin with a
 * dash, and our own type patterns end with a star, which the scripts quote.
 */
function mayBeTyped(value: string): boolean {
  return isPlainWord(value) || /^--[a-z][a-z-]*$/.test(value) || /^[a-z]+\.\*$/.test(value)
}

interface Position {
  readonly command: Command
  readonly operands: readonly string[]
  /** The option that takes the next word as its value. */
  readonly option: Option | null
}

/**
 * Returns the position that the words lead to; null behind `--`, where the words belong to another
 * program.
 */
function readWords(program: Command, words: readonly string[]): Position | null {
  let command = program
  let operands: string[] = []
  let option: Option | null = null
  for (const word of words) {
    if (option !== null) option = null
    else if (word === '--') return null
    else if (word.startsWith('-')) option = takesValue(command, word)
    else {
      const verb = command.commands.find((one) => one.name() === word)
      if (verb === undefined) operands.push(word)
      else {
        command = verb
        operands = []
      }
    }
  }
  return { command, operands, option }
}

function takesValue(command: Command, word: string): Option | null {
  const option = command.options.find((one) => one.short === word || one.long === word)
  return option !== undefined && (option.required || option.optional) ? option : null
}

async function ofOption(option: Option, operands: readonly string[], sources: Sources): Promise<Completion> {
  if (option.argChoices !== undefined)
    return { candidates: option.argChoices.map((value) => ({ value, about: '' })), files: false }
  // `--secret <secret>` takes a name that the service knows; `--secret <id=ID...>` takes a name
  // that is made up here. Options such as `--since <snapshot>` take a snapshot under other names.
  const name = option.flags.endsWith('<snapshot>') ? 'snapshot' : option.attributeName()
  const source = option.flags.includes('=') ? undefined : sources[name]
  return {
    candidates: (await source?.(operands)) ?? [],
    files: option.long === '--state-dir' || option.long === '--file',
  }
}

async function ofPosition(
  command: Command,
  operands: readonly string[],
  current: string,
  sources: Sources,
): Promise<Completion> {
  if (current.startsWith('-')) return { candidates: optionsOf(command), files: false }
  const verbs = command.commands.filter((one) => !one.name().startsWith('_'))
  if (verbs.length > 0 && operands.length === 0)
    return { candidates: verbs.map((one) => ({ value: one.name(), about: one.description() })), files: false }
  const argument = argumentAt(command, operands.length)
  if (argument === undefined) return nothing
  if (argument.argChoices !== undefined)
    return { candidates: argument.argChoices.map((value) => ({ value, about: '' })), files: false }
  const candidates = (await sources[argument.name()]?.(operands)) ?? []
  return { candidates, files: namesOfFiles.includes(argument.name()) }
}

function optionsOf(command: Command): Candidate[] {
  const visible = command.options.filter((option) => !option.hidden && option.long !== undefined)
  return [
    ...visible.map((option) => ({ value: option.long ?? '', about: option.description })),
    { value: '--help', about: 'display help' },
  ]
}

function argumentAt(command: Command, index: number): Argument | undefined {
  const last = command.registeredArguments.at(-1)
  return command.registeredArguments[index] ?? (last?.variadic === true ? last : undefined)
}
