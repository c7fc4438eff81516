import type { Glob } from '@holt/glob'
import { BuildError } from '../errors.ts'
import { readGlob, replaceByGlob, trimByGlob } from './match-glob.ts'
import type { Escape } from './read-directives.ts'
import { WordAccount } from './word-account.ts'

/** Returns the value of a variable, or undefined if it is not set. */
export type Lookup = (name: string) => string | undefined

/** The maximum number of characters that one word may expand to. */
const MAX_LENGTH = 1 << 20
/** The maximum depth of substitutions such as `${a:-${b:-...}}`. */
const MAX_DEPTH = 100

const nameAt = /[\p{Nd}]+|[\p{L}_][\p{L}\p{Nd}_]*|[@*#?$!-]/uy

/** Options for expanding a word. */
export interface ExpandOptions {
  /** The escape character. Default: a backslash. */
  readonly escapeChar?: Escape
  /** The account to charge: that of the word's file. Default: a new one. */
  readonly account?: WordAccount
}

/**
 * Expands variables in a word of a Dockerfile and removes its quotes: `$x`, `${x}`, `${x:-d}`,
 * `${x-d}`, `${x:+a}`, `${x+a}`, `${x:?e}`, `${x?e}`, `${x#p}`, `${x##p}`, `${x%p}`, `${x%%p}`,
 * `${x/p/r}`, `${x//p/r}`. An unset variable is empty. The length is bounded, and the account
 * bounds the work. Throws `BuildError` `dockerfile_invalid` for a malformed word or an exhausted
 * account. Source: docs.docker.com, Dockerfile reference, "Environment replacement"; moby/buildkit,
 * frontend/dockerfile/shell.
 */
export function expandWord(word: string, lookup: Lookup, options: ExpandOptions = {}): string {
  return new Expansion(word, toolsOf(lookup, options, true)).run()
}

/**
 * Expands the text of a here-document as `expandWord` does, but takes quotes literally. Escapes are
 * still removed.
 */
export function expandText(text: string, lookup: Lookup, options: ExpandOptions = {}): string {
  return new Expansion(text, toolsOf(lookup, options, false)).run()
}

function toolsOf(
  lookup: Lookup,
  { escapeChar = '\\', account = new WordAccount() }: ExpandOptions,
  quotes: boolean,
): Tools {
  return { lookup, escapeChar, account, quotes }
}

/** Quotes a text so that `expandWord` returns it unchanged. */
export function quoteWord(text: string, escapeChar: '\\' | '`' = '\\'): string {
  return text.replace(/[\\`$'"]/g, (char) =>
    char === '\\' || char === '`' ? (char === escapeChar ? char + char : char) : escapeChar + char,
  )
}

interface Tools {
  readonly lookup: Lookup
  readonly escapeChar: string
  readonly account: WordAccount
  /** True if quotes have a meaning. */
  readonly quotes: boolean
}

/** One pass over a word. */
class Expansion {
  readonly #word: string
  readonly #tools: Tools
  #at = 0
  #depth = 0

  constructor(word: string, tools: Tools) {
    this.#word = word
    this.#tools = tools
  }

  run(): string {
    return this.#until(null, false)
  }

  get #next(): string {
    return this.#word[this.#at] ?? ''
  }

  /**
   * Reads up to a character that ends this part, or to the end of the word. Escapes in a pattern
   * are kept, because the pattern interprets them.
   */
  #until(stop: '}' | '/' | null, keepEscapes: boolean): string {
    let result = ''
    this.#depth += 1
    if (this.#depth > MAX_DEPTH) throw this.#invalid('it is nested too deeply')
    while (this.#at < this.#word.length) {
      const char = this.#next
      if (char === stop) {
        this.#at += 1
        this.#depth -= 1
        return result
      }
      result += this.#part(char, keepEscapes)
      if (result.length > MAX_LENGTH) throw this.#invalid(`it becomes longer than ${MAX_LENGTH} characters`)
    }
    if (stop !== null) throw this.#invalid(`it has a "\${" without its "${stop}"`)
    this.#depth -= 1
    return result
  }

  #part(char: string, keepEscapes: boolean): string {
    if (char === "'" && this.#tools.quotes) return this.#singleQuoted()
    if (char === '"' && this.#tools.quotes) return this.#doubleQuoted(keepEscapes)
    if (char === '$') return this.#variable()
    this.#at += 1
    if (char !== this.#tools.escapeChar) return char
    const escaped = this.#next
    this.#at += 1
    return keepEscapes ? char + escaped : escaped
  }

  #singleQuoted(): string {
    const end = this.#word.indexOf("'", this.#at + 1)
    if (end === -1) throw this.#invalid("it has a ' that is not closed")
    const text = this.#word.slice(this.#at + 1, end)
    this.#at = end + 1
    return text
  }

  #doubleQuoted(keepEscapes: boolean): string {
    let result = ''
    for (this.#at += 1; this.#at < this.#word.length; ) {
      const char = this.#next
      if (char === '"') {
        this.#at += 1
        return result
      }
      if (char === '$') result += this.#variable()
      else {
        this.#at += 1
        result += char === this.#tools.escapeChar ? this.#escapedInQuotes(keepEscapes) : char
      }
      if (result.length > MAX_LENGTH) throw this.#invalid(`it becomes longer than ${MAX_LENGTH} characters`)
    }
    throw this.#invalid('it has a " that is not closed')
  }

  /**
   * Reads an escape within double quotes. Only a quote, a dollar and the escape itself can be
   * escaped there. Before any other character the escape is literal.
   */
  #escapedInQuotes(keepEscapes: boolean): string {
    const { escapeChar } = this.#tools
    const next = this.#next
    if (next === '') return ''
    if (next !== '"' && next !== '$' && next !== escapeChar) return escapeChar
    this.#at += 1
    return keepEscapes ? escapeChar + next : next
  }

  #variable(): string {
    this.#at += 1
    const text = this.#next === '{' ? this.#braced() : this.#plain()
    this.#tools.account.produce(text.length)
    return text
  }

  #plain(): string {
    const name = this.#name()
    return name === '' ? '$' : (this.#tools.lookup(name) ?? '')
  }

  #name(): string {
    nameAt.lastIndex = this.#at
    const name = nameAt.exec(this.#word)?.[0] ?? ''
    this.#at += name.length
    return name
  }

  #braced(): string {
    this.#at += 1
    const name = this.#name()
    if (name === '') throw this.#invalid('it has a "${" without a name')
    const value = this.#tools.lookup(name)
    const operator = this.#next
    this.#at += 1
    if (operator === '}') return value ?? ''
    if (operator === ':' || operator === '-' || operator === '+' || operator === '?') {
      return this.#substitute(name, operator, value)
    }
    if (operator === '#' || operator === '%') return this.#trim(operator, value ?? '')
    if (operator === '/') return this.#replace(value ?? '')
    if (operator === '') throw this.#invalid(`it has a "\${" without its "}"`)
    throw this.#invalid(`"\${${name}${operator}" is not a substitution`)
  }

  #substitute(name: string, first: string, value: string | undefined): string {
    const operator = first === ':' ? this.#next : first
    if (first === ':') this.#at += 1
    if (operator !== '-' && operator !== '+' && operator !== '?') {
      throw this.#invalid(`"\${${name}:${operator}" is not a substitution`)
    }
    const word = this.#until('}', false)
    const missing = value === undefined || (first === ':' && value === '')
    if (operator === '-') return missing ? word : value
    if (operator === '+') return missing ? '' : word
    if (!missing) return value
    const standard = value === undefined ? 'is not set' : 'is empty'
    throw new BuildError('dockerfile_invalid', `${name}: ${word === '' ? standard : word.slice(0, 500)}`, {
      hint: `Give ${name} a value: a build argument, or ENV.`,
    })
  }

  #trim(operator: '#' | '%', value: string): string {
    const longest = this.#next === operator
    if (longest) this.#at += 1
    const glob = this.#glob(this.#until('}', true))
    const side = operator === '#' ? 'prefix' : 'suffix'
    return trimByGlob(glob, value, { side, longest, spend: this.#tools.account.spend })
  }

  #replace(value: string): string {
    const all = this.#next === '/'
    if (all) this.#at += 1
    const glob = this.#glob(this.#until('/', true))
    const by = this.#until('}', true)
    return replaceByGlob(glob, value, { by, all, spend: this.#tools.account.spend })
  }

  #glob(text: string): Glob {
    this.#tools.account.spend(text.length)
    const glob = readGlob(text, this.#tools.escapeChar)
    if (glob === null) throw this.#invalid('a pattern in it escapes a character that needs no escape')
    return glob
  }

  #invalid(why: string): BuildError {
    return invalid(this.#word, why)
  }
}

function invalid(word: string, why: string): BuildError {
  const shown = word.length > 200 ? `${word.slice(0, 200)}...` : word
  return new BuildError('dockerfile_invalid', `The word ${JSON.stringify(shown)} cannot be read: ${why}.`)
}
