import type { Escape } from './read-directives.ts'

const space = /\s/u

/**
 * Splits at white space outside of quotes. Quotes and escapes stay in the words. Source:
 * moby/buildkit, frontend/dockerfile/parser, `parseWords`.
 */
export function splitWords(text: string, escapeChar: Escape): string[] {
  const words: string[] = []
  let start = -1
  let quote: string | null = null
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? ''
    if (quote === null && space.test(char)) {
      if (start !== -1) words.push(text.slice(start, at))
      start = -1
      continue
    }
    if (start === -1) start = at
    // Single quotes allow no escapes.
    if (char === escapeChar && quote !== "'") at += 1
    else if (quote !== null) quote = char === quote ? null : quote
    else if (char === "'" || char === '"') quote = char
  }
  if (start !== -1) words.push(text.slice(start))
  return words
}

/** Splits at white space, regardless of quotes, as for FROM, COPY, ADD and EXPOSE. */
export function splitPlain(text: string): string[] {
  return text.split(/\s+/u).filter((word) => word !== '')
}

/** One `--name=value` before the arguments. The value is null without a `=`. */
export interface Flag {
  readonly name: string
  readonly value: string | null
}

/**
 * Removes the flags at the beginning of the text after a keyword. Quotes and backslashes of flags
 * are resolved, and `--` alone ends them. Source: moby/buildkit, frontend/dockerfile/parser,
 * `extractBuilderFlags`.
 */
export function takeFlags(text: string): { readonly flags: readonly Flag[]; readonly rest: string } {
  const flags: Flag[] = []
  for (let at = 0; ; ) {
    while (at < text.length && space.test(text[at] ?? '')) at += 1
    if (!text.startsWith('--', at)) return { flags, rest: text.slice(at).trim() }
    const { word, end } = flagWord(text, at)
    at = end
    if (word === '--') return { flags, rest: text.slice(at).trim() }
    const equals = word.indexOf('=')
    flags.push(
      equals === -1
        ? { name: word.slice(2), value: null }
        : { name: word.slice(2, equals), value: word.slice(equals + 1) },
    )
  }
}

function flagWord(text: string, start: number): { readonly word: string; readonly end: number } {
  let word = ''
  let quote: string | null = null
  let at = start
  for (; at < text.length; at += 1) {
    const char = text[at] ?? ''
    if (quote === null && space.test(char)) break
    if (char === quote) quote = null
    else if (quote === null && (char === "'" || char === '"')) quote = char
    else if (char === '\\') {
      at += 1
      word += text[at] ?? ''
    } else word += char
  }
  return { word, end: at }
}

/**
 * Returns a JSON array of strings, `mixed` for an array with other values, and null for any other
 * text. Never throws.
 */
export function readJsonForm(text: string): readonly string[] | 'mixed' | null {
  if (!text.startsWith('[')) return null
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // As in BuildKit, a text that is no JSON is a command for the shell: `[ -f x ] && y`.
    return null
  }
  if (!Array.isArray(value)) return null
  return value.every((item): item is string => typeof item === 'string') ? value : 'mixed'
}
