/**
 * The lines at the bottom of a terminal that are redrawn. Finished lines scroll away above them.
 */
export class LiveRegion {
  readonly #stream: NodeJS.WriteStream
  #widths: readonly number[] = []

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  /**
   * Draws the current lines, below lines that stay. Lines are cut to the terminal; of too many the
   * last stay.
   */
  draw(lines: readonly string[], above: readonly string[] = []): void {
    const columns = this.#stream.columns || 80
    const rows = Math.max(1, (this.#stream.rows || 24) - 2)
    const shown = lines.slice(-rows).map((line) => fitted(line, columns - 1))
    const text = [...above.map((line) => fitted(line, columns - 1)), ...shown].map((line) => `${line}\n`).join('')
    this.#stream.write(`${this.#erasing(columns)}${text}`)
    this.#widths = shown.map(widthOf)
  }

  /**
   * Returns the sequence that moves to the start of the last drawing and erases it. A terminal that
   * has become narrower has wrapped it.
   */
  #erasing(columns: number): string {
    const rows = this.#widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0)
    return rows === 0 ? '' : `\u001b[${rows}A\r\u001b[J`
  }
}

const styles = /\u001b\[[0-9;]*m/gu
/**
 * Characters that terminals draw two columns wide (UAX 11: W and F, by their blocks) and marks that
 * take none.
 */
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const zero = /\p{Mn}|\p{Me}|\p{Cf}/u

/** Returns the number of columns of a text. */
export function widthOf(text: string): number {
  let width = 0
  for (const char of text.replace(styles, '')) width += columnsOf(char)
  return width
}

function columnsOf(char: string): number {
  if (char <= '~') return 1
  if (zero.test(char)) return 0
  return wide.test(char) ? 2 : 1
}

/** Returns a line cut to a number of columns. Styles take none, and end at the cut. */
export function fitted(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line
  let width = 0
  let text = ''
  for (const [part = ''] of line.matchAll(/\u001b\[[0-9;]*m|./gsu)) {
    const isStyle = part.length > 1 && part.startsWith('\u001b')
    if (!isStyle) width += columnsOf(part)
    if (width > columns - 1) break
    text += part
  }
  return `${text}…${line.includes('\u001b') ? '\u001b[0m' : ''}`
}
