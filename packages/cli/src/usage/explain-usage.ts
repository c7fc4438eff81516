import type { Command, CommanderError } from 'commander'
import { connect } from '../connection/connect.ts'
import { defaultPort } from '../daemon/state.ts'
import { say } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { shellWord } from '../shell/shell-word.ts'
import { insteadOfOption, insteadOfOptionOf } from './other-options.ts'
import {
  documentationNames,
  groupVerbsFor,
  insteadInGroup,
  insteadOf,
  mainVerbOf,
  serviceOrRuntime,
  verbFor,
} from './synonyms.ts'

/** A command line that commander refused, and its program. */
interface Refused {
  readonly args: readonly string[]
  readonly program: Command
}

const similar = /\n(\(Did you mean [^\n]*\?\))$/

/** Prints the error of a command line, and Holt's words for those of other tools. */
export function explainUsage(error: CommanderError, refused: Refused): void {
  const [, spelling] = similar.exec(error.message) ?? []
  say(printable(withoutSecret(error.message.replace(similar, ''), refused.args)))
  const advice = adviceFor(error, refused, spelling !== undefined) ?? spelling
  if (advice !== undefined) say(printable(advice))
  say('(add --help for the options and examples)')
}

/**
 * Returns the words to type instead; undefined if none are known. `isSpelling` is true if the words
 * are nearly right.
 */
function adviceFor({ code, message }: CommanderError, refused: Refused, isSpelling: boolean): string | undefined {
  const args = refused.args[0] === '--' ? refused.args.slice(1) : refused.args
  const [verb = '', second = ''] = args
  const [, word = ''] = /'([^']*)'/.exec(message) ?? []
  if (code === 'commander.unknownCommand')
    return word === verb
      ? insteadOfVerb(word, second)
      : insteadInside({ program: refused.program, verb, word, isSpelling })
  if (code === 'commander.unknownOption') return insteadOfFlag(verb, word)
  if (code === 'commander.excessArguments') return insteadOfArguments(verb, second)
  if (code === 'commander.invalidArgument') return insteadOfValue(args, word)
  if (code === 'commander.missingArgument') return insteadOfFewer(args)
  return undefined
}

/**
 * Returns the message without the value given to `secret set`, because the log of a job would keep
 * it.
 */
function withoutSecret(message: string, [verb, second]: readonly string[]): string {
  return verb === 'secret' && second === 'set' ? message.replace(/( but got \d+): .*$/s, '$1.') : message
}

function insteadOfVerb(word: string, second: string): string | undefined {
  const both = own(serviceOrRuntime, word)
  if (both !== undefined) return insteadOfBoth(both, second)
  if (documentationNames.includes(word))
    return hint(`The documentation, once the service runs: ${documentationUrl()}. Every command: holt --help`)
  const known = own(verbFor, word)
  return known === undefined ? hint(own(insteadOf, word)) : didYouMean(known)
}

function insteadOfBoth({ service, runtime }: { service: string; runtime: string }, second: string): string | undefined {
  if (second === '' || second.startsWith('-')) return didYouMean(service)
  return hint(`For a runtime: holt ${runtime} ${shellWord(second)}. For the service: holt ${service}`)
}

/** Returns the address of the documentation of the service that the commands use. */
function documentationUrl(): string {
  let url = process.env.HOLT_URL || `http://127.0.0.1:${defaultPort()}`
  try {
    url = connect().url
  } catch {
    // The settings of the connection are wrong, which a command that needs it reports.
  }
  return `${url.replace(/\/+$/, '')}/docs/`
}

function insteadInside({
  program,
  verb,
  word,
  isSpelling,
}: {
  program: Command
  verb: string
  word: string
  isSpelling: boolean
}): string | undefined {
  const instead = own(insteadInGroup, `${verb} ${word}`)
  if (instead !== undefined) return hint(instead)
  const names = program.commands.find((one) => one.name() === verb)?.commands.map((one) => one.name()) ?? []
  const same = own(groupVerbsFor, word)?.find((name) => names.includes(name))
  if (same !== undefined) return didYouMean(`${verb} ${same}`)
  const main = own(mainVerbOf, verb)
  return main === undefined || isSpelling ? undefined : didYouMean(`${verb} ${main} ${shellWord(word)}`)
}

function insteadOfFlag(verb: string, flag: string): string | undefined {
  const name = flag.startsWith('--') ? (flag.split('=')[0] ?? flag) : flag
  const ofVerb = own(insteadOfOptionOf, verb.startsWith('-') ? '' : verb) ?? {}
  // In a group of letters, the first one is the unknown one.
  const found = [name, name.slice(0, 2)].map((one) => own(ofVerb, one) ?? own(insteadOfOption, one))
  return hint(found.find((one) => one !== undefined))
}

function insteadOfArguments(verb: string, second: string): string | undefined {
  if (verb === 'create' && !second.startsWith('-')) return didYouMean(`create -n ${shellWord(second)}`)
  if (verb === 'secret' && second === 'set') return hint(valueElsewhere)
  const [, runtime, path] = verb === 'ls' ? (/^([^:]+):(\/.*)$/.exec(second) ?? []) : []
  if (runtime !== undefined && path !== undefined)
    return hint(`List files: holt exec ${shellWord(runtime)} -- ls -la ${shellWord(path)}`)
  return undefined
}

/** Returns the words for a port of docker's form, LOCAL:PORT. */
function insteadOfValue([verb, runtime = '']: readonly string[], value: string): string | undefined {
  if (verb !== 'port' || !/^\d+:\d+$/.test(value)) return undefined
  return didYouMean(`port ${shellWord(runtime)} --forward ${value}`)
}

const valueElsewhere =
  'A value cannot be an argument: the process list and the shell history would show it. Pipe it to stdin, or name a variable with --from-env'

function insteadOfFewer([verb = '', runtime]: readonly string[]): string | undefined {
  if (verb === 'ps' && runtime === undefined) return didYouMean('ls, which lists the runtimes')
  if (verb !== 'kill' || runtime === undefined || runtime.startsWith('-')) return undefined
  const name = shellWord(runtime)
  return hint(`Its commands: holt ps ${name}. To end the runtime: holt rm ${name}`)
}

function didYouMean(words: string): string {
  return `(Did you mean holt ${words}?)`
}

function hint(text: string | undefined): string | undefined {
  return text === undefined ? undefined : `hint: ${text}`
}

/**
 * Returns a value of a table. Names that every object has, such as `toString`, are none of its
 * keys.
 */
function own<Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}
