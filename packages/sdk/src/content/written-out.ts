/**
 * The characters that a terminal interprets or a person cannot see: control characters of C0 and
 * C1, bidirectional and invisible characters of Unicode, its tags, and halves of surrogate pairs.
 */
const obeyed =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|\p{Surrogate}/gu

/**
 * Returns foreign text with each character that a terminal would interpret, or that nobody would
 * see, in its JSON form: `\u001b`. Characters for which `stays` returns true are left as they are.
 */
export function writtenOut(text: string, stays: (character: string, at: number) => boolean = () => false): string {
  return text.replace(obeyed, (character, at: number) => (stays(character, at) ? character : inJson(character)))
}

/** Returns a character as JSON escapes it, so that printed JSON stays valid. */
function inJson(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
