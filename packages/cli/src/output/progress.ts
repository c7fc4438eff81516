import { LiveRegion } from './live-region.ts'
import { say, styled } from './print.ts'
import { printable } from './visible.ts'

/** Columns for the bar, the percentage, and a phase. */
const minColumns = 60

const barColumns = 30
/** The frames of the animation, which shows that a long step still runs. */
const frames = ['◒', '◐', '◓', '◑']
const frameMs = 120

/** The progress of a job. A total of 0 is unknown. */
interface Step {
  readonly phase: string
  readonly done: number
  readonly total: number
}

/**
 * Shows the progress of a long job on stderr: one bar on a terminal, and otherwise a plain line for
 * each phase and quarter. The percentage only rises, and ends at 100 on success. A job that ends
 * before its first drawing prints nothing. The terminal's input is not used, so Ctrl-C stays a
 * signal.
 */
export class Progress {
  readonly #title: string
  #bar: Bar | null = null
  #phase: string | null = null
  #percent = 0

  /** The title is printed on its own line, before the first progress. */
  constructor(title = '') {
    this.#title = title
  }

  /** Shows the current progress. */
  update({ phase, done, total }: Step): void {
    const percent = Math.max(this.#percent, total > 0 ? Math.min(100, Math.floor((done / total) * 100)) : 0)
    const before = { phase: this.#phase, percent: this.#percent }
    this.#phase = phase
    this.#percent = percent
    if (before.phase === null && this.#title !== '') say(this.#title)
    if (hasRoom(process.stderr)) {
      this.#bar ??= new Bar(process.stderr)
      this.#bar.show(phase, percent)
    } else if (phase !== before.phase || quarter(percent) > quarter(before.percent)) say(line(percent, phase))
  }

  /** Ends the progress after success. */
  end(message: string): void {
    if (this.#bar !== null) this.#bar.end(`${styled('green', '◇')}  ${line(100, message)}`)
    else if (this.#phase !== null) say(line(100, message))
  }

  /** Ends the progress after a failure. The percentage stays where it was. */
  fail(message: string): void {
    this.#bar?.end(`${styled('red', '■')}  ${printable(message)}`)
  }
}

/** One line of a terminal that is redrawn until it ends. */
class Bar {
  readonly #region: LiveRegion
  readonly #timer = setInterval(() => this.#draw(), frameMs).unref()
  #frame = 0
  #phase: string | null = null
  #percent = 0

  constructor(stream: NodeJS.WriteStream) {
    this.#region = new LiveRegion(stream)
  }

  show(phase: string, percent: number): void {
    if (phase === this.#phase && percent === this.#percent) return
    this.#phase = phase
    this.#percent = percent
    this.#draw()
  }

  /** Puts a last line where the bar was. */
  end(text: string): void {
    clearInterval(this.#timer)
    this.#region.draw([], [text])
  }

  #draw(): void {
    const done = Math.round((this.#percent / 100) * barColumns)
    const bar = `${styled('magenta', '━'.repeat(done))}${styled('dim', '━'.repeat(barColumns - done))}`
    const frame = frames[this.#frame++ % frames.length]
    this.#region.draw([`${frame}  ${bar} ${line(this.#percent, this.#phase ?? '')}`])
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
