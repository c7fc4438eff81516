import { Excerpt, type ExcerptSize, type LeftOut } from './excerpt.ts'
import { LastLine } from './last-line.ts'
import { withoutStyles } from './results.ts'

/** The sizes of the excerpts of both streams. */
interface OutputSizes {
  readonly stdout: ExcerptSize
  readonly stderr: ExcerptSize
}

/** Excerpts of the output of a command or of code. Its last line is reported from time to time. */
export class OutputExcerpts implements Disposable {
  readonly #streams: { readonly stdout: Excerpt; readonly stderr: Excerpt }
  readonly #lastLine: LastLine

  /** `tell` is called with the last line of the output. */
  constructor({ stdout, stderr }: OutputSizes, tell: (message: string) => void) {
    this.#streams = { stdout: new Excerpt(stdout), stderr: new Excerpt(stderr) }
    this.#lastLine = new LastLine(tell)
  }

  /** True if nothing was written. */
  get isEmpty(): boolean {
    return Object.values(this.#streams).every(({ bytes }) => bytes === 0)
  }

  /** Adds a piece of a stream. `cursor` is that of its first byte. */
  add(stream: 'stdout' | 'stderr', piece: Uint8Array, cursor: number): void {
    this.#streams[stream].add(piece, cursor)
    this.#lastLine.take(piece)
  }

  /** Reports the last line now. */
  report(): void {
    this.#lastLine.report()
  }

  /** Returns a text with a heading for each stream. `note` writes the line in place of a middle. */
  texts(note: (leftOut: LeftOut) => string): readonly string[] {
    return Object.entries(this.#streams).map(([name, excerpt]) =>
      excerpt.bytes === 0 ? '' : `--- ${name} ---\n${withoutStyles(excerpt.text(note))}`,
    )
  }

  [Symbol.dispose](): void {
    this.#lastLine[Symbol.dispose]()
  }
}
