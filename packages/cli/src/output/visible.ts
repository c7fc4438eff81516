import { writtenOut } from '@holt/sdk'

// Names and texts come from runtimes, images and other people. Characters that a terminal
// interprets are escaped.

/** Matches our own colours and weights, in the form of `styleText`. None of them hides text. */
const ownStyle = /^\u001b\[(?:0|1|2|22|3[1-69]|90)m/

/**
 * Returns foreign text on one line, with each character that a terminal would interpret written
 * out: `\u001b`.
 */
export function printable(text: string): string {
  return writtenOut(text.replace(/[\t\n\v\f\r]+/g, ' '))
}

/**
 * Returns our own lines with foreign control characters written out. Line breaks, tabs and our own
 * styles stay.
 */
export function visible(text: string): string {
  return writtenOut(text, (character, at) => {
    if (character === '\n' || character === '\t') return true
    return character === '\u001b' && ownStyle.test(text.slice(at, at + 8))
  })
}

/**
 * Returns output of a runtime for a terminal, with control characters written out. Line breaks,
 * tabs and returns stay: a return redraws only the line of the output itself.
 */
export function visibleOutput(text: string): string {
  return writtenOut(text, (character) => '\n\t\r'.includes(character))
}
