import { shown, wrong } from './line-error.ts'
import type { Instruction, Pair } from './plan.ts'
import type { Escape } from './read-directives.ts'
import { readJsonForm, splitPlain, splitWords } from './split-words.ts'

type Setting<Type extends Instruction['type']> = Omit<Extract<Instruction, { type: Type }>, 'line' | 'text'>

/** The maximum number of names of one ENV, ARG, LABEL or EXPOSE. */
const MAX_WORDS = 1000

/**
 * Reads `a=b c="d e"`. ENV and LABEL also accept the old form `a b c`: one name, and the rest as
 * its value.
 */
export function readPairs(keyword: string, rest: string, escapeChar: Escape): readonly Pair[] {
  const words = splitWords(rest, escapeChar)
  const [first] = words
  if (first === undefined) throw wrong(`${keyword} has no name.`)
  if (words.length > MAX_WORDS) throw wrong(`${keyword} has more than ${MAX_WORDS} names.`)
  if (!first.includes('=')) {
    const [name = '', value] = divideAtSpace(rest)
    if (value === undefined) throw wrong(`${keyword} ${shown(name, 80)} has no value.`, `Write ${keyword} NAME=VALUE.`)
    return [{ name, value }]
  }
  return words.map((word) => {
    const equals = word.indexOf('=')
    if (equals === -1) throw wrong(`"${shown(word, 80)}" has no "=".`, 'Quote a value that has spaces: NAME="a b".')
    if (equals === 0) throw wrong(`${keyword} has an empty name.`)
    return { name: word.slice(0, equals), value: word.slice(equals + 1) }
  })
}

function divideAtSpace(text: string): [string, string?] {
  const at = text.search(/\s/u)
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at).trim()]
}

/** Reads ARG: names with or without a default. */
export function readArgs(rest: string, escapeChar: Escape): Setting<'arg'> {
  const words = splitWords(rest, escapeChar)
  if (words.length === 0) throw wrong('ARG has no name.')
  if (words.length > MAX_WORDS) throw wrong(`ARG has more than ${MAX_WORDS} names.`)
  const args = words.map((word) => {
    const equals = word.indexOf('=')
    const name = equals === -1 ? word : word.slice(0, equals)
    if (name === '') throw wrong('ARG has an empty name.')
    return { name, default: equals === -1 ? null : word.slice(equals + 1) }
  })
  return { type: 'arg', args }
}

/** Reads WORKDIR or USER, whose one argument is the rest of the line. */
export function readWhole(keyword: string, rest: string): string {
  if (rest === '') throw wrong(`${keyword} has no value.`)
  return rest
}

/** Reads SHELL. */
export function readShell(rest: string): Setting<'shell'> {
  const shell = readJsonForm(rest)
  if (shell === null || shell === 'mixed') {
    throw wrong('SHELL takes the JSON form only.', 'Write it like SHELL ["/bin/bash", "-c"].')
  }
  if (shell.length === 0 || shell[0] === '') throw wrong('SHELL names no program.')
  if (shell.some((word) => word.includes('\0'))) throw wrong('SHELL has a NUL character.')
  return { type: 'shell', shell }
}

const port = /^\d{1,5}(?:-\d{1,5})?(?:\/(?:tcp|udp|sctp))?$/i

/** Reads EXPOSE. A word with a variable may become several ports. */
export function readExpose(rest: string): Setting<'expose'> {
  const ports = splitPlain(rest)
  if (ports.length === 0) throw wrong('EXPOSE has no port.')
  if (ports.length > MAX_WORDS) throw wrong(`EXPOSE has more than ${MAX_WORDS} ports.`)
  for (const word of ports) {
    if (/["'$\\`]/.test(word)) continue
    const bounds = word.replace(/\/.*$/, '').split('-').map(Number)
    if (!port.test(word) || bounds.some((bound) => bound < 1 || bound > 65535)) {
      throw wrong(`"${shown(word, 40)}" is not a port.`, 'Write it like EXPOSE 8080 or EXPOSE 53/udp.')
    }
  }
  return { type: 'expose', ports }
}
