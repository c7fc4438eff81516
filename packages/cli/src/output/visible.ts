// Names and texts come from runtimes, images and other people. A terminal obeys some of their characters; those are written out instead.

/** Control characters of C0 and C1, those that turn or hide text (Unicode's bidirectional and invisible ones), and halves of surrogate pairs. */
const obeyed =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\p{Surrogate}/gu

/** Our own colours and weights, as `styleText` writes them: none that hides text. */
const ownStyle = /^\u001b\[(?:0|1|2|22|3[1-69]|90)m/

/** Returns text that came from elsewhere on one line, with each character that a terminal would obey written out: `\u001b`. */
export function printable(text: string): string {
  return text.replace(/[\t\n\v\f\r]+/g, ' ').replace(obeyed, writtenOut)
}

/** Returns a line or lines of ours with everything written out that a terminal would obey, but for line breaks, tabs and our own styles. */
export function visible(text: string): string {
  return text.replace(obeyed, (character, at: number) => {
    if (character === '\n' || character === '\t') return character
    return character === '\u001b' && ownStyle.test(text.slice(at, at + 8)) ? character : writtenOut(character)
  })
}

/** JSON has the same form, so that an object stays what it is. */
function writtenOut(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
