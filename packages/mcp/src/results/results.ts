import { stripVTControlCharacters } from 'node:util'
import { writtenOut } from '@holt/sdk'
import type { CallToolResult } from '@modelcontextprotocol/server'

/**
 * Returns a result of texts, each a block of its own. Control characters in them are written out:
 * many clients print results at a terminal. Line breaks, returns and tabs stay.
 */
export function textResult(...texts: readonly string[]): CallToolResult {
  return { content: texts.filter((text) => text !== '').map((text) => ({ type: 'text', text: shownText(text) })) }
}

/** Returns text with control characters written out, except those between lines and words. */
export function shownText(text: string): string {
  return writtenOut(text, (character) => '\n\t\r'.includes(character))
}

/** Returns a foreign name or message on one line, with control characters written out. */
export function oneLine(text: string): string {
  return writtenOut(text)
}

/** Returns output of programs without the colours and cursor movements of terminals. */
export function withoutStyles(output: string): string {
  return stripVTControlCharacters(output)
}

/** Returns a result with a value as JSON. */
export function jsonResult(value: unknown): CallToolResult {
  return textResult(JSON.stringify(value))
}

/** Returns a result with items as JSON, one a line, and a note behind them. */
export function linesResult(items: readonly unknown[], note = ''): CallToolResult {
  return textResult(items.map((item) => JSON.stringify(item)).join('\n'), note)
}

/** Returns the note of a list that has another page. */
export function moreWith(cursor: string): string {
  return `There are more: call again with cursor ${JSON.stringify(cursor)}.`
}

/** Returns a number as people write it: `1,234,567`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

/** Returns a text of at most `most` characters, with the sign of an omission at its end. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}
