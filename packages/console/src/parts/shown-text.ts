import { writtenOut } from '@holt/sdk'

/**
 * Returns text of a runtime for a name, an address or a detail. Characters that nobody sees, or
 * that change the order of others, are written out as `\u202e`. So the text cannot look like
 * another one. Line breaks and tabs stay.
 */
export function shownText(text: string): string {
  return writtenOut(text, (character) => character === '\n' || character === '\t')
}

/**
 * The sequences of terminals: CSI, OSC and other strings, and those of two or three characters
 * (ECMA-48, 5.4 and 5.6). A string that does not end takes the rest.
 */
const sequences =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g

/**
 * The returns before a line break. A match begins at the first of them: without that, each of a
 * million returns in a row would begin a search through all of the rest.
 */
const returns = /(?<!\r)\r+\n/g

const otherControls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/**
 * Returns output of a program as text for a page: without the sequences of terminals. A line that
 * was written over, as a progress bar does, has its last text.
 */
export function outputText(text: string): string {
  return text
    .replace(sequences, '')
    .replace(returns, '\n')
    .replace(/^.*\r(?!$)/gm, '')
    .replace(otherControls, '')
}

/** The maximum number of characters of a line that are shown. The service cuts lines at fewer. */
const lineCharacters = 64 * 1024

/**
 * Returns a line of output as a terminal would leave it: without colours, and only the last of
 * overwritten texts. Other characters that are no text are written out.
 */
export function plainLine(message: string): string {
  const shown = message.slice(0, lineCharacters).replace(sequences, '').trimEnd()
  return shownText(shown.slice(shown.lastIndexOf('\r') + 1))
}
