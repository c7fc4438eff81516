import type { ProgressResult } from '@clack/prompts'
import { say } from './print.ts'
import { printable } from './visible.ts'

/** The bar, the percentage, and a phase. */
const minColumns = 60

/** How far a job is. A total of 0 is one that is not known. */
interface Step {
  readonly phase: string
  readonly done: number
  readonly total: number
}

/**
 * Shows how far a long job is: one bar on a terminal, a plain line per phase and quarter elsewhere. All of it on stderr. The
 * percentage only rises, and is 100 at the end of a job that was done. A job that is over before it was seen shows nothing.
 */
export class Progress {
  readonly #title: string
  #bar: ProgressResult | null = null
  #phase: string | null = null
  #percent = 0
  #drawn = 0
  #over = false

  /** The title is a line of its own, before the first that moves. */
  constructor(title = '') {
    this.#title = title
  }

  /** Tells where the job is. */
  async update({ phase, done, total }: Step): Promise<void> {
    const percent = Math.max(this.#percent, total > 0 ? Math.min(100, Math.floor((done / total) * 100)) : 0)
    const before = { phase: this.#phase, percent: this.#percent }
    this.#phase = phase
    this.#percent = percent
    if (before.phase === null && this.#title !== '') say(this.#title)
    if (hasRoom(process.stderr)) await this.#draw(phase, percent)
    else if (phase !== before.phase || quarter(percent) > quarter(before.percent)) say(line(percent, phase))
  }

  /** The job is done. */
  end(message: string): void {
    this.#over = true
    if (this.#bar !== null) this.#bar.stop(line(100, message))
    else if (this.#phase !== null) say(line(100, message))
  }

  /** The job has failed; the percentage stays where it was. */
  fail(message: string): void {
    this.#over = true
    this.#bar?.error(printable(message))
  }

  async #draw(phase: string, percent: number): Promise<void> {
    const { progress } = await import('@clack/prompts')
    // While the library was loaded the job may have ended, and nobody would stop the bar.
    if (this.#over) return
    if (this.#bar === null) {
      this.#bar = progress({ max: 100, size: 30, output: process.stderr, withGuide: false })
      this.#bar.start(line(percent, phase))
    }
    this.#bar.advance(percent - this.#drawn, line(percent, phase))
    this.#drawn = percent
  }
}

/** Whether a bar fits on a line. A terminal that says no width (`script`, some CI) has none. */
function hasRoom(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY && (stream.columns ?? 0) >= minColumns
}

const quarter = (percent: number) => Math.floor(percent / 25)

function line(percent: number, text: string): string {
  return `${String(percent).padStart(3)} %  ${printable(text)}`
}
