/** The parts of output that are not text. They may arrive in pieces. */
type Mode = 'text' | 'escape' | 'control' | 'string' | 'string-escape'

/**
 * The characters that change the direction of text, with which a line could show something else
 * than it says.
 */
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

const controls = /\p{Cc}/u

/**
 * Makes plain text of a command's output: escape sequences and control characters are removed, and
 * a carriage return begins a new line.
 */
export class PlainOutput {
  #mode: Mode = 'text'
  #returned = false

  /** Returns the text of the next piece of output. */
  add(piece: string): string {
    const text = piece.replaceAll(directions, '')
    if (this.#mode === 'text' && !this.#returned && !controls.test(text)) return text
    let plain = ''
    for (const char of text) plain += this.#next(char)
    return plain
  }

  #next(char: string): string {
    if (this.#mode === 'text') return this.#text(char)
    this.#mode = modeAfter(this.#mode, char)
    return ''
  }

  #text(char: string): string {
    const line = this.#returned ? '\n' : ''
    this.#returned = char === '\r'
    if (char === '\r') return line
    if (char === '\n') return '\n'
    if (char === '\t' || !controls.test(char)) return line + char
    this.#mode = modeOf(char)
    return line
  }
}

/** Returns the mode that a control character begins (ECMA-48, 5.3). */
function modeOf(char: string): Mode {
  if (char === '\u001b') return 'escape'
  if (char === '\u009b') return 'control'
  return '\u0090\u0098\u009d\u009e\u009f'.includes(char) ? 'string' : 'text'
}

function modeAfter(mode: Exclude<Mode, 'text'>, char: string): Mode {
  // A cancel ends every sequence.
  if (char === '\u0018' || char === '\u001a') return 'text'
  if (mode === 'string' || mode === 'string-escape') {
    if (char === '\u001b') return 'string-escape'
    const isEnd = char === '\u0007' || char === '\u009c' || (mode === 'string-escape' && char === '\\')
    return isEnd ? 'text' : 'string'
  }
  if (char === '\u001b') return 'escape'
  if (mode === 'control') return /[@-~]/.test(char) ? 'text' : 'control'
  if (char === '[') return 'control'
  if ('PX]^_'.includes(char)) return 'string'
  return /[ -/]/.test(char) ? 'escape' : 'text'
}
