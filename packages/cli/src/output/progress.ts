import type { ProgressResult } from '@clack/prompts'
import { say } from './print.ts'
import { printable } from './visible.ts'

/** Columns for the bar, the percentage, and a phase. */
const minColumns = 60

/** The progress of a job. A total of 0 is unknown. */
interface Step {
  readonly phase: string
  readonly done: number
  readonly total: number
}

/**
 * Shows the progress of a long job on stderr: one bar on a terminal, and otherwise a plain line for
 * each phase and quarter. The percentage only rises, and ends at 100 on success. A job that ends
 * before it was shown prints nothing.
 */
export class Progress {
  readonly #title: string
  #bar: ProgressResult | null = null
  #phase: string | null = null
  #percent = 0
  #drawn = 0
  #over = false

  /** The title is printed on its own line, before the first progress. */
  constructor(title = '') {
    this.#title = title
  }

  /** Shows the current progress. */
  async update({ phase, done, total }: Step): Promise<void> {
    const percent = Math.max(this.#percent, total > 0 ? Math.min(100, Math.floor((done / total) * 100)) : 0)
    const before = { phase: this.#phase, percent: this.#percent }
    this.#phase = phase
    this.#percent = percent
    if (before.phase === null && this.#title !== '') say(this.#title)
    if (hasRoom(process.stderr)) await this.#draw(phase, percent)
    else if (phase !== before.phase || quarter(percent) > quarter(before.percent)) say(line(percent, phase))
  }

  /** Ends the progress after success. */
  end(message: string): void {
    this.#over = true
    if (this.#bar !== null) this.#bar.stop(line(100, message))
    else if (this.#phase !== null) say(line(100, message))
  }

  /** Ends the progress after a failure. The percentage stays where it was. */
  fail(message: string): void {
    this.#over = true
    this.#bar?.error(printable(message))
  }

  async #draw(phase: string, percent: number): Promise<void> {
    const { progress } = await import('@clack/prompts')
    // The job may have ended while the library was loaded; then nobody would stop the bar.
    if (this.#over) return
    if (this.#bar === null) {
      this.#bar = progress({ max: 100, size: 30, output: process.stderr, withGuide: false })
      this.#bar.start(line(percent, phase))
    }
    this.#bar.advance(percent - this.#drawn, line(percent, phase))
    this.#drawn = percent
  }
}

/**
 * Returns true if a bar fits on a line. A terminal without a width (`script`, some CI) has no room.
 */
function hasRoom(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY && (stream.columns ?? 0) >= minColumns
}

const quarter = (percent: number) => Math.floor(percent / 25)

function line(percent: number, text: string): string {
  return `${String(percent).padStart(3)} %  ${printable(text)}`
}
