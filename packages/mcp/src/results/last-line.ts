import { oneLine, shortened, withoutStyles } from './results.ts'

/** The least time between two reports, in milliseconds. */
const reportMs = 500

/** The maximum number of characters of a line in a report. */
const maxLineLength = 200

/** The bytes of the end of the output that may contain its last line. */
const endBytes = 4 * maxLineLength

/**
 * Reports the last line of an output while it comes. A line that comes soon after a report is
 * reported later, so the last one is never left out.
 */
export class LastLine implements Disposable {
  readonly #tell: (line: string) => void
  #end = new Uint8Array(0)
  #isTold = true
  #toldAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | null = null

  constructor(tell: (line: string) => void) {
    this.#tell = tell
  }

  take(bytes: Uint8Array): void {
    this.#end = new Uint8Array(Buffer.concat([this.#end, bytes.subarray(-endBytes)]).subarray(-endBytes))
    this.#isTold = false
    const wait = this.#toldAt + reportMs - performance.now()
    if (wait <= 0) this.report()
    else this.#timer ??= setTimeout(() => this.report(), wait).unref()
  }

  /** Reports the last line now, unless it was reported. */
  report(): void {
    this[Symbol.dispose]()
    if (this.#isTold) return
    this.#isTold = true
    const text = withoutStyles(new TextDecoder().decode(this.#end)).trimEnd()
    const line = text.slice(text.search(/[^\n\r]*$/))
    if (line === '') return
    this.#toldAt = performance.now()
    this.#tell(shortened(oneLine(line), maxLineLength))
  }

  /** Ends without another report. */
  [Symbol.dispose](): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}
