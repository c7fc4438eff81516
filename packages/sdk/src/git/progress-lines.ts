/** The longest line that is reported, in characters. */
const maxLineLength = 1000

/**
 * Splits the output of git into lines. Git ends each state of a line by a carriage return, and the
 * last one by a newline.
 */
export class ProgressLines {
  readonly #tell: (line: string) => void
  #rest = ''

  constructor(tell: (line: string) => void) {
    this.#tell = tell
  }

  add(text: string): void {
    const lines = (this.#rest + text).split(/[\r\n]/)
    this.#rest = (lines.pop() ?? '').slice(0, maxLineLength)
    for (const line of lines) this.#report(line)
  }

  /** Reports the last line, which has no end. */
  end(): void {
    this.#report(this.#rest)
    this.#rest = ''
  }

  #report(line: string): void {
    // The remote ends its lines with an escape sequence that erases the rest of a terminal's line.
    const shown = line.replaceAll('\u001b[K', '').trim()
    if (shown !== '') this.#tell(shown.slice(0, maxLineLength))
  }
}

/** Returns the output of git with the last state of each line only. */
export function withoutProgress(stderr: string): string {
  return stderr
    .split('\n')
    .map((line) => line.replace(/\r$/, '').split('\r').at(-1) ?? '')
    .join('\n')
}
