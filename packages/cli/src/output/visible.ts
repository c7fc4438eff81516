// Names and texts come from runtimes, images and other people. Characters that a terminal
// interprets are escaped.

/**
 * The characters that a terminal interprets: control characters of C0 and C1, bidirectional and
 * invisible characters of Unicode, and halves of surrogate pairs.
 */
const obeyed =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\p{Surrogate}/gu

/** Matches our own colours and weights, in the form of `styleText`. None of them hides text. */
const ownStyle = /^\u001b\[(?:0|1|2|22|3[1-69]|90)m/

/**
 * Returns foreign text on one line, with each character that a terminal would interpret written
 * out: `\u001b`.
 */
export function printable(text: string): string {
  return text.replace(/[\t\n\v\f\r]+/g, ' ').replace(obeyed, writtenOut)
}

/**
 * Returns our own lines with foreign control characters written out. Line breaks, tabs and our own
 * styles stay.
 */
export function visible(text: string): string {
  return text.replace(obeyed, (character, at: number) => {
    if (character === '\n' || character === '\t') return character
    return character === '\u001b' && ownStyle.test(text.slice(at, at + 8)) ? character : writtenOut(character)
  })
}

/**
 * Returns output of a runtime for a terminal, with control characters written out. Line breaks,
 * tabs and returns stay: a return redraws only the line of the output itself.
 */
export function visibleOutput(text: string): string {
  return text.replace(obeyed, (character) => ('\n\t\r'.includes(character) ? character : writtenOut(character)))
}

/** Returns a character in its JSON form, so that printed JSON stays valid. */
function writtenOut(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
