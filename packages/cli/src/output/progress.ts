import type { ProgressResult } from '@clack/prompts'
import { say } from './print.ts'

const barSteps = 100

/** Shows how far a long job is: a bar on a terminal, a plain line per phase and quarter elsewhere. All of it on stderr. */
export class Progress {
  #phase = ''
  #bar: ProgressResult | null = null
  #shown = 0

  /** Tells where the job is. A total of 0 is one that is not known. */
  async update({ phase, done, total }: { phase: string; done: number; total: number }): Promise<void> {
    const share = total > 0 ? Math.min(1, done / total) : 0
    if (process.stderr.isTTY) await this.#draw(phase, share)
    else this.#tell(phase, share)
  }

  /** Ends the bar with a last line. */
  end(message: string): void {
    if (this.#bar === null) return
    this.#bar.stop(message)
    this.#bar = null
  }

  async #draw(phase: string, share: number): Promise<void> {
    if (this.#bar === null || phase !== this.#phase) {
      this.end(this.#phase)
      const { progress } = await import('@clack/prompts')
      this.#bar = progress({ max: barSteps, size: 30, output: process.stderr, withGuide: false })
      this.#bar.start(phase)
      this.#phase = phase
      this.#shown = 0
    }
    const step = Math.floor(share * barSteps) - this.#shown
    if (step <= 0) return
    this.#shown += step
    this.#bar.advance(step, `${phase} ${this.#shown} %`)
  }

  #tell(phase: string, share: number): void {
    const quarter = Math.floor(share * 4) * 25
    if (phase === this.#phase && quarter <= this.#shown) return
    say(quarter === 0 ? `${phase}...` : `${phase}... ${quarter} %`)
    this.#phase = phase
    this.#shown = quarter
  }
}
